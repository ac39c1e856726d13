import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { removeAbandoned, createTemporaryFolder } from '../../../src/files/temporaryFolder.ts';

const MODULE = new URL('../../../src/files/temporaryFolder.ts', import.meta.url).href;

function place(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'c3-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test('what a killed process leaves behind goes with the next start, and what one that lives has stays', (t) => {
  const within = place(t);
  const own = createTemporaryFolder('import', within);
  const script = `import { writeFileSync } from 'node:fs';
    import { createTemporaryFolder } from ${JSON.stringify(MODULE)};
    const folder = createTemporaryFolder('import', ${JSON.stringify(within)});
    writeFileSync(folder + '/log', 'x');
    process.kill(process.pid, 'SIGKILL');`;
  spawnSync(process.execPath, ['--input-type=module', '-e', script]);
  const parent = dirname(own);
  assert.equal(readdirSync(parent).length, 2, 'the killed process left its folder');
  // Another machine's, whose processes are not known here, and what is not ours.
  mkdirSync(join(parent, '00000000.1.1.import-abc'));
  writeFileSync(join(parent, 'notes'), '');
  removeAbandoned(within);
  assert.deepEqual(
    readdirSync(parent).filter((name) => join(parent, name) !== own),
    ['00000000.1.1.import-abc', 'notes'],
  );
  assert.ok(existsSync(own));
  assert.equal(statSync(own).mode & 0o077, 0);
});

test('a number that another process has by now does not keep a folder', { skip: process.platform !== 'linux' }, (t) => {
  const within = place(t);
  const parent = dirname(createTemporaryFolder('import', within));
  const [own = ''] = readdirSync(parent);
  const earlier = own.replace(/^([0-9a-f]+\.\d+)\.\d+/u, '$1.1');
  mkdirSync(join(parent, earlier));
  removeAbandoned(within);
  assert.deepEqual(readdirSync(parent), [own]);
});

test('a parent that is a link of somebody is neither used nor emptied', (t) => {
  const within = place(t);
  const parent = dirname(createTemporaryFolder('import', within));
  const target = join(within, 'target');
  rmSync(parent, { recursive: true });
  mkdirSync(join(target, '00000000.1.1.x'), { recursive: true });
  symlinkSync(target, parent);
  assert.equal(dirname(createTemporaryFolder('import', within)), within);
  removeAbandoned(within);
  assert.deepEqual(readdirSync(target), ['00000000.1.1.x']);
});

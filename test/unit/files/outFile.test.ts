import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { removeUnfinished } from '../../../src/files/newFile.ts';
import { writeOut } from '../../../src/files/outFile.ts';

const MODULE = join(import.meta.dirname, '..', '..', '..', 'src', 'files', 'outFile.ts');

function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'c3-out-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

describe('writeOut', () => {
  it('leaves no file of that name when the process is killed, and what is left goes with the next one', (t) => {
    const folder = temporaryFolder(t);
    const path = join(folder, 'report.json');
    const program = `
      import { writeOut } from ${JSON.stringify(MODULE)};
      writeOut(${JSON.stringify(path)}, (function* () {
        yield 'half';
        process.kill(process.pid, 'SIGKILL');
      })());`;
    const killed = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
    assert.equal(killed.signal, 'SIGKILL', killed.stderr);
    assert.equal(readdirSync(folder).length, 1);
    assert.equal(readdirSync(folder).includes('report.json'), false);
    writeOut(path, ['wh', 'ole']);
    assert.deepEqual(readdirSync(folder), ['report.json']);
    assert.equal(readFileSync(path, 'utf8'), 'whole');
  });

  it('writes neither over a file that came meanwhile nor through a link', (t) => {
    const folder = temporaryFolder(t);
    const [raced, link] = [join(folder, 'raced'), join(folder, 'link')];
    const taken = /already exists and was left unchanged/u;
    assert.throws(() => {
      writeOut(
        raced,
        (function* pieces() {
          yield 'mine';
          writeOut(raced, ['theirs']);
        })(),
      );
    }, taken);
    assert.equal(readFileSync(raced, 'utf8'), 'theirs');
    symlinkSync(join(folder, 'nowhere'), link);
    assert.throws(() => writeOut(link, ['mine']), taken);
    assert.deepEqual(readdirSync(folder), ['link', 'raced']);
  });
});

it('removeUnfinished takes what dead processes left, and only that', (t) => {
  const folder = temporaryFolder(t);
  const gone = String(2 ** 22 + 1);
  const kept = ['a.9x.tmp', `b.${process.pid}.tmp`, 'c.tmp', `d.${gone}.safetensors`];
  for (const name of [...kept, `a.${gone}.tmp`, `e.${gone}.0123456789abcdef.tmp`, `e.${gone}.tmp-wal`]) {
    writeFileSync(join(folder, name), '');
  }
  removeUnfinished(folder, 'e');
  assert.deepEqual(readdirSync(folder), [`a.${gone}.tmp`, ...kept].sort());
  removeUnfinished(folder);
  assert.deepEqual(readdirSync(folder), kept);
  removeUnfinished(join(folder, 'none'));
});

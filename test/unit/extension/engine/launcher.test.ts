import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createLauncher, writeLauncher } from '../../../../src/extension/engine/launcher.ts';

test(
  'c3 in a terminal starts the command line with the arguments as they are, wherever it lies',
  { skip: process.platform === 'win32' },
  (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'c3-test-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const home = join(folder, "an 'odd' $HOME");
    mkdirSync(home);
    const cli = join(home, 'cli.cjs');
    writeFileSync(cli, 'console.log(JSON.stringify([process.argv.slice(2), process.env.ELECTRON_RUN_AS_NODE]));');
    const bin = join(folder, 'bin');
    const launcher = createLauncher('linux', process.execPath, cli);
    for (const given of [['--text', 'two  "words"', '$HOME', ''], ['as it is']]) {
      writeLauncher(bin, launcher);
      const said: unknown = JSON.parse(execFileSync(join(bin, 'c3'), given, { encoding: 'utf8' }));
      assert.deepEqual(said, [given, '1']);
    }
  },
);

test('on Windows a percent sign of a path names no variable', () => {
  const { name, text } = createLauncher('win32', 'C:\\Code\\Code.exe', 'C:\\50%\\cli.js');
  assert.equal(name, 'c3.cmd');
  assert.match(text, /"C:\\Code\\Code\.exe" "C:\\50%%\\cli\.js" %\*/u);
});

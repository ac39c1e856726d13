/** Completion: the script of bash in a real bash, and that those of all shells have every command and option. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { DECLARED } from '../../../../src/engine/commandLine/commands.ts';
import { buildCompletionScript } from '../../../../src/engine/commandLine/completion.ts';
import { toFlag } from '../../../../src/engine/commandLine/declared/declaration.ts';
import { c3 } from '../workspace.ts';

let folder = '';
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'c3-completion-'));
  writeFileSync(join(folder, 'my run.c3.yaml'), '');
  mkdirSync(join(folder, 'model'));
  writeFileSync(join(folder, 'completion.bash'), buildCompletionScript('bash', DECLARED));
});
after(() => rmSync(folder, { recursive: true, force: true }));

/** What bash offers behind words, the last of which is being typed. */
function offered(...words: string[]): string[] {
  const script =
    'source completion.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _c3; printf "%s\\n" "${COMPREPLY[@]}"';
  const printed = execFileSync('bash', ['--norc', '-c', script, 'bash', ...words], { cwd: folder, encoding: 'utf8' });
  return printed.split('\n').filter((line) => line !== '');
}

describe('bash', () => {
  it('completes a command', () => {
    assert.deepEqual(offered('c3', 're'), ['replace', 'replay', 'report', 'record']);
    assert.equal(offered('c3', '').length, DECLARED.length + 3);
    assert.deepEqual(offered('c3', 'help', 'conv'), ['convert']);
  });

  it('completes an option of the command', () => {
    assert.deepEqual(offered('c3', 'replay', '12', '--s'), [
      ...['--settle', '--snapshot', '--spend-tokens', '--spend-money', '--store'],
    ]);
    assert.deepEqual(offered('c3', 'mcp', ''), ['--store', '--help']);
  });

  it('completes a value that is one of several, also behind the sign of equality', () => {
    assert.deepEqual(offered('c3', 'blame', '--by', 'l'), ['label', 'level']);
    assert.deepEqual(offered('c3', 'blame', '--by', '=', 'c'), ['class']);
    assert.deepEqual(offered('c3', 'keep', '3', '--expect', '='), ['held', 'fixed']);
    assert.deepEqual(offered('c3', 'bench', 'paper'), ['paper-table']);
    assert.deepEqual(offered('c3', 'completion', ''), ['bash', 'zsh', 'fish']);
  });

  it('completes files, folders, and what is recorded, and offers nothing for a number', () => {
    assert.deepEqual(offered('c3', 'run', 'm').toSorted(), ['model', 'my run.c3.yaml']);
    assert.deepEqual(offered('c3', 'check', '--model', 'm'), ['model']);
    assert.deepEqual(offered('c3', 'record', '--json', '--', 'my'), ['my run.c3.yaml']);
    assert.deepEqual(offered('c3', 'replay', '12', '--at-most', ''), []);
  });
});

describe('a script', () => {
  for (const shell of ['bash', 'zsh', 'fish'] as const) {
    it(`of ${shell} is printed, with every command and option`, async () => {
      const { code, stdout } = await c3(folder, ['completion', shell]);
      assert.equal(code, 0);
      for (const { name, options } of DECLARED) {
        assert.ok(stdout.includes(name), name);
        for (const flag of Object.keys(options).map(toFlag)) {
          assert.ok(stdout.includes(shell === 'fish' ? `'__c3_command ${name}' -l ${flag.slice(2)} ` : flag), flag);
        }
      }
    });
  }

  it('of another shell is refused', async () => {
    const { code, stderr } = await c3(folder, ['completion', 'bsh']);
    assert.deepEqual([code, stderr], [2, 'c3: SHELL is bash, zsh or fish, not "bsh"; did you mean bash?\n']);
  });
});

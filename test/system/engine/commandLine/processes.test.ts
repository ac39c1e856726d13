/**
 * `c3` as a process of its own: the exit code of every command, Ctrl+C, and a reader that leaves. What commands say is
 * tested in process.
 */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { COMMANDS } from '../../../../src/engine/commandLine/commands.ts';
import { c3, c3Apart, contentsOf, finished, hears, startC3 } from '../../../unit/engine/workspace.ts';

let folder = '';
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'c3-processes-'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

const CREDIT = ['credit', '--estimator', 'loo'];
const LINE = `${JSON.stringify({ id: 'a', alternatives: [{ returns: [1] }, { returns: [0] }] })}\n`;

describe('an exit code', () => {
  for (const name of Object.keys(COMMANDS)) {
    it(`is 2 for wrong arguments of c3 ${name}`, async () => {
      const { code, stdout, stderr } = await c3Apart(folder, [name, '--no-such-option']);
      assert.deepEqual([code, stdout], [2, '']);
      assert.match(stderr, new RegExp(`^c3: c3 ${name} has no option --no-such-option; [^\\n]+\\n$`));
    });
  }

  const masked = `${JSON.stringify({ id: 1, gold: ' ', prediction: '3' })}\n`;
  for (const [what, args, stdin, code] of [
    ['0 of help', [], '', 0],
    ['0 of credit', CREDIT, LINE, 0],
    ['0 of status', ['status', '--json'], '', 0],
    ['1 of grade where a line is masked', ['grade', '--kind', 'math'], masked, 1],
  ] as const) {
    it(`is ${what}, as in process, which says the same`, async () => {
      const apart = await c3Apart(folder, args, { stdin });
      assert.equal(apart.code, code, apart.stderr);
      assert.deepEqual(await c3(folder, args, { stdin }), apart);
      assert.deepEqual(contentsOf(folder), {});
    });
  }
});

describe('a reader that leaves', () => {
  it('ends the command without a word', async () => {
    const child = startC3(folder, CREDIT);
    // More than the pipes hold, so that the command is writing when its reader goes; what it does not read breaks that
    // pipe.
    child.stdin.on('error', () => undefined);
    child.stdin.end(LINE.repeat(200_000));
    const ended = finished(child);
    child.stdout.once('data', () => child.stdout.destroy());
    const { stderr, code } = await ended;
    assert.equal(stderr, '');
    assert.equal(code, 1);
  });
});

describe('Ctrl+C', () => {
  it('ends a command that changes nothing at once', async () => {
    const child = startC3(folder, CREDIT);
    const ended = finished(child);
    child.stdout.once('data', () => child.kill('SIGINT'));
    // Its input is never at its end.
    child.stdin.write(LINE);
    const deaf = setTimeout(() => child.kill('SIGKILL'), 120_000);
    await ended;
    clearTimeout(deaf);
    assert.equal(child.signalCode, 'SIGINT');
  });

  it('cancels any other, and a second one ends it', async () => {
    // It lives as long as its input, which outlives the command.
    const program = 'process.stdin.resume(); process.on("SIGTERM", () => console.error("deaf")); console.error("up")';
    const child = startC3(folder, ['record', '--json', '--', process.execPath, '-e', program]);
    const ended = finished(child);
    child.once('exit', () => child.stdin.end());
    await hears(child, 'up');
    const deaf = hears(child, 'deaf');
    child.kill('SIGINT');
    await deaf;
    child.kill('SIGINT');
    assert.equal((await ended).code, 130);
  });
});

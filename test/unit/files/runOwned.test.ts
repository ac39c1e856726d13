/** Owned runs: they end by their deadline, their output or a cancel, whatever holds their streams, and leave nobody. */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { readProcessEnvironment, listProcesses } from '../../../src/files/ownedProcess.ts';
import { runOwned, type OwnedOutcome } from '../../../src/files/runOwned.ts';
import { NEVER } from '../../../src/shared/cancellation.ts';
import { CancelledError } from '../../../src/shared/errors.ts';

/** Far more than it takes; a run that waited for its streams would never end. */
const LONG = 60_000;
/** Starts a child in a session of its own, which ignores signals and holds all streams open. */
const HOLDS = 'setsid /bin/sh -c \'trap "" HUP INT TERM; while :; do sleep 1000; done\' &';

/** Runs a shell's script. @returns what came of it, and how many of its processes are left */
async function shell(
  script: string,
  { milliseconds = LONG, signal = NEVER, input = '' } = {},
): Promise<OwnedOutcome & { readonly left: number }> {
  const trial = randomBytes(16).toString('hex');
  const left = (): number => listProcesses().filter(({ pid }) => readProcessEnvironment(pid).includes(trial)).length;
  const env = { PATH: process.env['PATH'], C3_TRIAL: trial };
  try {
    const run = { command: ['/bin/sh', '-c', script] as const, env, input, milliseconds, most: 1000 };
    return { ...(await runOwned(run, signal)), left: left() };
  } catch (error) {
    assert.equal(left(), 0);
    throw error;
  }
}

describe('a program that is run to its end', { skip: process.platform !== 'linux', timeout: LONG }, () => {
  it('gives what it printed, the last of its errors, and its code', async () => {
    const script = 'read word; echo "$word"; head -c 5000 /dev/zero | tr "\\0" e >&2; echo last >&2; exit 3';
    const { end, stdout, stderr, left } = await shell(script, { input: 'given\n' });
    assert.deepEqual([end, stdout, left], [{ kind: 'exit', code: 3 }, 'given\n', 0]);
    assert.deepEqual([stderr.length, stderr.slice(-6)], [1000, 'elast\n']);
  });

  it('ends by itself, whatever holds its streams open', async () => {
    const { end, stdout, left } = await shell(`${HOLDS} echo done`);
    assert.deepEqual([end, stdout, left], [{ kind: 'exit', code: 0 }, 'done\n', 0]);
  });

  it('is ended by its deadline', async () => {
    const { end, stdout, left } = await shell(`${HOLDS} trap "" TERM; echo begun; while :; do sleep 1000; done`, {
      milliseconds: 300,
    });
    assert.deepEqual([end, stdout, left], [{ kind: 'late' }, 'begun\n', 0]);
  });

  it('is ended by a flood, of which no more is kept than is read', async () => {
    const { end, stdout, left } = await shell(`${HOLDS} trap "" PIPE; while :; do echo flood; done`);
    assert.deepEqual([end, stdout.length, left], [{ kind: 'flood' }, 1000, 0]);
  });

  it('is ended by a cancel, and not begun after one', async () => {
    const leaving = new AbortController();
    const run = shell(`${HOLDS} while :; do sleep 1000; done`, { signal: leaving.signal });
    setTimeout(() => leaving.abort(), 100);
    await assert.rejects(run, CancelledError);
    await assert.rejects(shell('exit 0', { signal: leaving.signal }), CancelledError);
  });

  it('that cannot be started says why', async () => {
    const { end } = await runOwned({ command: ['/nowhere'], env: {}, milliseconds: LONG, most: 10 }, NEVER);
    assert.ok(end.kind === 'unstarted' && end.error.code === 'ENOENT');
  });
});

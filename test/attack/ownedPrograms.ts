/**
 * Programs of a user's that do all to outlive their owner: they ignore signals, hold its streams open, and start
 * children that leave their group and their session. None is left, however the owner ends.
 */
import assert from 'node:assert/strict';
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { environmentOf, listedProcess, listedProcesses, type ListedProcess } from '../../src/files/processTable.ts';
import { settled } from './exchanges/settled.ts';
import { tally } from './harness.ts';

const owned = tally('programs that outlive their owner');

/** What names all processes of one trial, however far they go. */
const TRIAL = 'C3_TRIAL';
/** Owners, and shells of the program of each: itself, a child, one of a session of its own, and a child of that. */
const OWNERS = 3;
const PROCESSES = 4;
const HOSTILE = `trap '' HUP INT TERM
stays() { trap '' HUP INT TERM; while :; do sleep 1000 </dev/null; done; }
stays &
setsid /bin/sh -c 'trap "" HUP INT TERM; (while :; do sleep 1000; done) & while :; do sleep 1000; done' &
stays
`;
/** Owners beside each other. */
const TOGETHER = 4;
const PARENT = fileURLToPath(new URL('ownedParent.ts', import.meta.url));

export interface OwnedSizes {
  /** How often an owner ends in each way. */
  readonly ends: number;
}

type Parent = ChildProcessByStdio<Writable, Readable, null>;

let folder = '';

/** The living processes of a trial but one. */
const processesOf = (trial: string, but: number | undefined): readonly ListedProcess[] =>
  listedProcesses().filter(({ pid }) => pid !== but && environmentOf(pid).includes(trial));

/** A process by its command; it may have ended. */
function shown({ pid }: ListedProcess): string {
  try {
    return `${String(pid)} ${readFileSync(`/proc/${String(pid)}/cmdline`, 'latin1')
      .replaceAll('\0', ' ')
      .slice(0, 60)}`;
  } catch {
    return String(pid);
  }
}

function begin(trial: string): Parent {
  const own = join(folder, trial);
  mkdirSync(own);
  writeFileSync(join(own, 'hostile.sh'), HOSTILE);
  const parent = spawn(process.execPath, [PARENT, own], {
    env: { ...process.env, [TRIAL]: trial },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  parent.stdin.on('error', () => undefined);
  return parent;
}

/** Starts the programs of a parent, and waits until each is all that it comes to be. */
async function started(parent: Parent, trial: string): Promise<void> {
  parent.stdin.write('start\n');
  // The shells, and what each sleeps by.
  const all = OWNERS * PROCESSES * 2;
  assert.ok(await settled(() => processesOf(trial, parent.pid).length >= all), 'the programs do not start');
}

async function nobodyLeft(trial: string): Promise<void> {
  if (!(await settled(() => processesOf(trial, undefined).length === 0))) {
    const left = processesOf(trial, undefined);
    const said = left.map(shown).join('; ');
    for (const { pid, start } of left) {
      // Another process may have its number by now.
      if (listedProcess(pid)?.start === start) {
        process.kill(pid, 'SIGKILL');
      }
    }
    assert.fail(`left: ${said}`);
  }
}

/** Does so many trials, some beside each other. @param laneOf does those of one lane, one after another */
async function inLanes(count: number, laneOf: () => (number: number) => Promise<void>): Promise<void> {
  let number = 0;
  const lane = async (): Promise<void> => {
    const one = laneOf();
    while (number < count) {
      await one(number++);
    }
  };
  await Promise.all(Array.from({ length: TOGETHER }, lane));
}

export function ownedAttacks({ ends }: OwnedSizes): void {
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'c3-owned-'));
  });
  after(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  describe('no program outlives', { skip: process.platform !== 'linux' }, () => {
    for (const signal of ['SIGTERM', 'SIGHUP', 'SIGKILL'] as const) {
      it(`an owner that gets ${signal}, ${String(ends)} times`, () =>
        inLanes(ends, () => async (end) => {
          const trial = randomBytes(16).toString('hex');
          const parent = begin(trial);
          await owned.attempt(`${signal} ${String(end)}`, async () => {
            const exit = once(parent, 'exit');
            await started(parent, trial);
            parent.kill(signal);
            await exit;
            await nobodyLeft(trial);
          });
        }));
    }

    it(`a cancel, ${String(ends)} times`, (t) =>
      inLanes(ends, () => {
        const trial = randomBytes(16).toString('hex');
        const parent = begin(trial);
        t.after(() => parent.kill('SIGKILL'));
        return (end) =>
          owned.attempt(`cancel ${String(end)}`, async () => {
            await started(parent, trial);
            const said = once(parent.stdout, 'data');
            parent.stdin.write('cancel\n');
            await said;
            // Nobody is left by the time it is said.
            assert.deepEqual(processesOf(trial, parent.pid).map(shown), []);
          });
      }));
  });
}

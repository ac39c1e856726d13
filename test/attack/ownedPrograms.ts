/**
 * Owners of hostile programs and of interpreters, ended in every way at every moment: nothing that they started is
 * left.
 */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import {
  readProcessEnvironment,
  findListedProcess,
  listProcesses,
  type ListedProcess,
} from '../../src/files/ownedProcess.ts';
import { HashedStream } from '../../src/tasks/hashedStream.ts';
import { useOwnRuntimeFolder } from '../support/engines.ts';
import { seed, tally } from './harness.ts';
import { copyFor, ENDS, type End, type Owner, type OwnerKind } from './owners.ts';

const owned = tally('owners of hostile programs and interpreters');

/** What names all processes of one trial that have an environment, however far they go. */
const TRIAL = 'C3_TRIAL';
/** Interpreters, and the shell that watches: these have no mark. */
const UNMARKED = /\/sandbox\.(?:ts|m?js) |class Guard|c3-watch/u;
/** Milliseconds in which an owner has come to all that it is, before one has. */
const FIRST_LIFE = 4000;
/** Milliseconds between two looks at all processes, and looks until something is said never to come. */
const LOOK_EVERY = 50;
const MOST_LOOKS = 1200;

export interface OwnedSizes {
  readonly kinds: readonly OwnerKind[];
  /** How often an owner of each kind ends in each way. */
  readonly ends: number;
  /** Owners of a kind beside each other. */
  readonly together: number;
}

let folder = '';

const lineOf = ({ pid }: ListedProcess): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ');
  } catch {
    return '';
  }
};

/** The process that started another, or took it on; 0 where it has ended. */
function parentOf({ pid }: ListedProcess): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return 0;
  }
}

/** The living processes of a trial but one, by their mark. */
const markedOf = (trial: string, but: number): readonly ListedProcess[] =>
  listProcesses().filter(
    ({ pid, hasEnded }) => pid !== but && !hasEnded && readProcessEnvironment(pid).includes(trial),
  );

/** Unmarked ones that began after another process, and whose parent has ended: the first process has them. */
const orphansSince = (start: number): readonly ListedProcess[] =>
  listProcesses().filter(
    (one) => !one.hasEnded && one.start >= start && parentOf(one) === 1 && UNMARKED.test(lineOf(one)),
  );

const shown = (one: ListedProcess): string => `${one.pid} ${lineOf(one).slice(0, 80)}`;

/** Resolves to whether something holds within a while. */
async function settled(holds: () => boolean): Promise<boolean> {
  for (let look = 0; look < MOST_LOOKS; look++) {
    if (holds()) {
      return true;
    }
    await delay(LOOK_EVERY);
  }
  return false;
}

function killAll(left: readonly ListedProcess[]): void {
  for (const { pid, start } of left) {
    // Another process may have its number by now.
    if (findListedProcess(pid)?.start === start) {
      process.kill(pid, 'SIGKILL');
    }
  }
}

/** Fails where something is left of a trial, and ends it. */
async function nobodyLeft(left: () => readonly ListedProcess[]): Promise<void> {
  if (!(await settled(() => left().length === 0))) {
    const [found] = [left()];
    killAll(found);
    assert.fail(`left: ${found.map(shown).join('; ')}`);
  }
}

/** Ends one owner in one way, at a moment of its life. @param life milliseconds; null for once it is whole */
async function trial(kind: OwnerKind, prepared: string, how: End, life: number | null): Promise<number> {
  const name = randomBytes(16).toString('hex');
  const own = join(folder, name);
  copyFor(prepared, own);
  const began = performance.now();
  const owner: Owner = await kind.start(own, { ...process.env, [TRIAL]: name });
  const start = findListedProcess(owner.pid)?.start ?? Infinity;
  const left = (): readonly ListedProcess[] => markedOf(name, how === 'cancel' ? owner.pid : 0);
  try {
    if (life === null) {
      assert.ok(
        await settled(() => kind.isWhole(owner, markedOf(name, owner.pid).length)),
        'its programs do not start',
      );
    } else {
      await delay(life);
    }
    const lived = performance.now() - began;
    await owner.end(how);
    if (how === 'cancel') {
      // Nobody is left by the time it is said.
      assert.deepEqual(left().map(shown), []);
    }
    const engine = kind.name.startsWith('the engine') ? owner.pid : 0;
    await nobodyLeft(() => markedOf(name, engine));
    await nobodyLeft(() => orphansSince(start));
    return lived;
  } finally {
    killAll(markedOf(name, 0));
    rmSync(own, { recursive: true, force: true });
  }
}

export function ownedAttacks({ kinds, ends, together }: OwnedSizes): void {
  useOwnRuntimeFolder();
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'c3-owned-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  describe('nothing outlives', { skip: process.platform !== 'linux' }, () => {
    for (const kind of kinds) {
      describe(kind.name, () => {
        let prepared = '';
        let whole = FIRST_LIFE;
        before(async () => {
          prepared = await kind.prepare();
        });
        after(() => rmSync(prepared, { recursive: true, force: true }));
        for (const how of ENDS) {
          it(`${how}, ${ends} times`, async () => {
            const stream = new HashedStream(`${kind.name} ${how} ${seed()}`);
            let number = 0;
            const lane = async (): Promise<void> => {
              while (number < ends) {
                const end = number++;
                // Every other one at any moment until its programs are all that they come to be.
                const life = end % 2 === 0 ? null : stream.integer(0, Math.ceil(whole));
                await owned.attempt(`${kind.name}, ${how} ${end}`, async () => {
                  const lived = await trial(kind, prepared, how, life);
                  whole = life === null ? lived : whole;
                });
              }
            };
            await Promise.all(Array.from({ length: Math.min(together, ends) }, lane));
          });
        }
      });
    }
  });
}

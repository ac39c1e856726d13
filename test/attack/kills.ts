/**
 * Kills of the processes that measure: every run ends with the rows and weights of an undisturbed one, or interrupted
 * and so after it was resumed.
 */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { shownStatus } from '../../src/domain/run.ts';
import type { PythonBackend } from '../../src/evaluate/python/grader.ts';
import { toErrorMessage } from '../../src/shared/errors.ts';
import { connect } from '../../src/store/files/sqlite.ts';
import { HashedStream } from '../../src/tasks/hashedStream.ts';
import { tablesOf, type Row } from '../crash/tables.ts';
import type { Process } from '../support/processes.ts';
import { finished, startC3, withStore, type Finished } from '../unit/engine/workspace.ts';
import { seed, tally } from './harness.ts';
import { Killer } from './killer.ts';

/** How long the runs are, and what is tried of them. */
export interface RunKillSizes {
  readonly steps: number;
  readonly instances: number;
  /** Problems of an evaluation. */
  readonly evaluated: number;
  readonly scenarios: readonly Scenario[];
  /** At least so many processes are killed under runs. */
  readonly kills: number;
  /** Signals that ask one run to stop. */
  readonly stops: number;
  /** Whether the ends are compared with that of an undisturbed run, which takes as long as each of them. */
  readonly compared: boolean;
}

export interface GradeKillSizes {
  readonly backends: readonly PythonBackend[];
  /** Programs that are graded. */
  readonly programs: number;
  /** How often they are graded under attack, for each backend. */
  readonly grades: number;
}

const configOf = ({ steps, instances, evaluated }: RunKillSizes): string => `title: Killed sandboxes
task: {name: python}
steps: ${steps}
instances_per_step: ${instances}
sampling: {max_new_tokens: 24}
evaluation: {instances: ${evaluated}, batch: 2}
device: {threads: 1}
`;

/** Which sandboxes end now, of those that are there; one for each process of ours that is attacked. */
type Plan = (sandboxes: readonly Process[], milliseconds: number) => readonly Process[];

/** The first so many that appear: with one image for all, its makers. */
function firsts(count: number): Plan {
  const seen = new Set<number>();
  return (sandboxes) =>
    sandboxes.filter(({ pid }) => {
      if (seen.has(pid) || seen.size >= count) {
        return false;
      }
      seen.add(pid);
      return true;
    });
}

/** One of those that are there, again and again after a random time. */
function now(stream: HashedStream, longest: number): Plan {
  let next = stream.integer(0, longest);
  return (sandboxes, milliseconds) => {
    if (milliseconds < next || sandboxes.length === 0) {
      return [];
    }
    next = milliseconds + stream.integer(20, longest);
    return [stream.pick(sandboxes)];
  };
}

/** Every one that has lived for so long. */
function aged(milliseconds: number): Plan {
  const born = new Map<number, number>();
  return (sandboxes, time) =>
    sandboxes.filter(({ pid }) => {
      if (!born.has(pid)) {
        born.set(pid, time);
      }
      return time - (born.get(pid) ?? time) >= milliseconds;
    });
}

interface Ended extends Finished {
  readonly kills: number;
}

const folders: string[] = [];

after(() => {
  for (const folder of folders) {
    rmSync(folder, { recursive: true, force: true });
  }
});

/** @param config of the run in it; left out where there is none */
function freshFolder(config?: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'c3-kills-'));
  folders.push(folder);
  if (config !== undefined) {
    writeFileSync(join(folder, 'python.c3.yaml'), config);
  }
  return folder;
}

interface Attack {
  readonly stdin?: string;
  /** Milliseconds after which it gets the signal itself. */
  readonly life?: number;
  readonly signal?: NodeJS.Signals;
}

/** `c3` under attack, to its end. */
async function attacked(
  folder: string,
  args: readonly string[],
  plan: Plan | null,
  { stdin = '', life = Infinity, signal = 'SIGKILL' }: Attack = {},
): Promise<Ended> {
  const child = startC3(folder, args);
  child.stdin.on('error', () => undefined);
  child.stdin.end(stdin);
  const killer = new Killer(child.pid ?? 0, plan ?? (() => []));
  let own = 0;
  const timer =
    life === Infinity
      ? undefined
      : setTimeout(() => {
          if (child.kill(signal)) {
            own++;
          }
        }, life);
  try {
    const ended = await finished(child);
    return { ...ended, kills: killer.kills + own };
  } finally {
    clearTimeout(timer);
    killer.stop();
  }
}

interface Whole {
  readonly tables: Readonly<Record<string, readonly Row[]>>;
  readonly weights: string;
}

/** All that a finished run has left behind. */
function whole(folder: string, log: string): Whole {
  const { id, status } = withStore(folder, (store) => store.runs(0, 1)[0]) ?? assert.fail(log);
  assert.equal(status, 'done', log);
  const file = withStore(folder, (store) => store.snapshotsOfRun(id).at(-1)?.file) ?? assert.fail(log);
  const db = connect(join(folder, '.c3', 'c3.sqlite'), 'read');
  try {
    const tables = tablesOf(db, { [id]: 'RUN', [folder]: 'FOLDER' });
    // What the search index holds depends on its transactions; what it finds does not.
    return {
      tables: Object.fromEntries(Object.entries(tables).filter(([table]) => !table.startsWith('message_search'))),
      weights: createHash('sha256').update(readFileSync(file)).digest('hex'),
    };
  } finally {
    db.close();
  }
}

/** What begins the run, or takes it up where it was begun. */
function runOrResume(folder: string): readonly string[] {
  try {
    const id = withStore(folder, (store) => store.runs(0, 1)[0]?.id);
    return id === undefined ? ['run', 'python.c3.yaml'] : ['run', '--resume', id];
  } catch {
    // Ended before there was a store.
    return ['run', 'python.c3.yaml'];
  }
}

/**
 * Runs under attack after attack, resumed as often as it takes, and last undisturbed.
 * @returns kills, and how often it was interrupted
 */
async function endures(
  config: string,
  plans: readonly { readonly plan: Plan; readonly life?: number }[],
  expected: Whole | null,
): Promise<{ readonly kills: number; readonly stops: number }> {
  const folder = freshFolder(config);
  let [kills, stops, log] = [0, 0, ''];
  for (const { plan, life } of [...plans, { plan: null, life: Infinity }]) {
    const ended = await attacked(folder, runOrResume(folder), plan, { life: life ?? Infinity });
    kills += ended.kills;
    log += `${String(ended.code)} after ${ended.kills} kills\n${ended.stderr}\n`;
    if (ended.code === 0) {
      break;
    }
    stops++;
    assert.notEqual(plan, null, log);
    if (ended.code === null) {
      continue;
    }
    // Neither failed nor done: interrupted, in a sentence that says why.
    assert.equal(ended.code, 1, log);
    assert.match(
      ended.stderr,
      /^c3: Run \S+ was interrupted at step \d of \d: The sandbox [^.]*\. What is stored stays/m,
    );
    assert.equal(
      withStore(folder, (store) => shownStatus(store.runs(0, 1)[0] ?? assert.fail(log), false)),
      'interrupted',
      log,
    );
  }
  const found = whole(folder, log);
  if (expected !== null) {
    assert.equal(found.weights, expected.weights, log);
    assert.deepEqual(found.tables, expected.tables, log);
  }
  return { kills, stops };
}

/**
 * What is tried: its name, the attacks on one process after the other, the fewest kills, and whether the run has to be
 * interrupted.
 */
export interface Scenario {
  readonly name: string;
  readonly plans: () => readonly { readonly plan: Plan; readonly life?: number }[];
  readonly fewest: number;
  readonly stops?: boolean;
}

const drawn = (name: string, longest: number): Plan => now(new HashedStream(`${name} ${seed()}`), longest);

/** No image can be made: the run is interrupted at its first program, and then comes to its end. */
export const EVERY_MAKER: Scenario = {
  name: 'every maker of the image',
  plans: () => [{ plan: firsts(Infinity) }],
  fewest: 1,
  stops: true,
};
const ENGINE = new HashedStream(`engine ${seed()}`);
export const ALL_SCENARIOS: readonly Scenario[] = [
  {
    name: 'every maker of the image, then sandboxes at random times',
    plans: () => [{ plan: firsts(Infinity) }, { plan: drawn('sample', 900) }],
    fewest: 4,
    stops: true,
  },
  ...[4].map((makers): Scenario => ({
    name: `${makers} makers of the image`,
    plans: () => [{ plan: firsts(makers) }],
    fewest: makers,
    stops: false,
  })),
  ...[1, 2].map((index): Scenario => ({
    name: `sandboxes at random times, ${index}`,
    plans: () => [{ plan: drawn(`sandboxes ${index}`, 500) }],
    fewest: 3,
  })),
  {
    name: 'sandboxes of short lives',
    // None lives long enough at first, whatever the machine; then more and more do.
    plans: () => [{ plan: aged(10) }, { plan: aged(600) }, { plan: aged(2500) }],
    fewest: 4,
    stops: true,
  },
  {
    name: 'the engine beside them',
    plans: () => Array.from({ length: 6 }, () => ({ plan: drawn('beside', 1200), life: ENGINE.integer(1500, 9000) })),
    fewest: 6,
    stops: true,
  },
];

/** Kills under runs, where processes can be found. */
export function runKillAttacks(sizes: RunKillSizes): void {
  if (process.platform !== 'linux') {
    return;
  }
  const config = configOf(sizes);

  describe(`a run whose sandboxes are killed comes to ${sizes.compared ? 'the same' : 'its'} end, at once or after it was interrupted`, () => {
    const count = tally('kills under a run');
    let killed = 0;
    const hold = (kills: number): void => {
      killed += kills;
      for (let kill = 0; kill < kills; kill++) {
        count.held();
      }
    };
    let expected: Whole | null = null;
    before(async () => {
      if (!sizes.compared) {
        return;
      }
      const folder = freshFolder(config);
      const { code, stderr } = await attacked(folder, ['run', 'python.c3.yaml'], null);
      assert.equal(code, 0, stderr);
      expected = whole(folder, stderr);
    });

    for (const { name, plans, fewest, stops } of sizes.scenarios) {
      it(name, async () => {
        const found = await endures(config, plans(), expected).catch((error: unknown) =>
          count.broken(toErrorMessage(error)),
        );
        assert.ok(found.kills >= fewest, `${found.kills} kills`);
        if (stops !== undefined) {
          assert.equal(found.stops > 0, stops);
        }
        hold(found.kills);
      });
    }

    if (sizes.kills > 0) {
      it(`until ${sizes.kills} kills were tried`, async () => {
        for (let run = 0; killed < sizes.kills; run++) {
          assert.ok(run < 2 * sizes.kills, `${killed} kills`);
          const { kills } = await endures(config, [{ plan: drawn(`more ${run}`, 300) }], expected).catch(
            (error: unknown) => count.broken(toErrorMessage(error)),
          );
          hold(kills);
        }
      });
    }

    if (sizes.stops > 0) {
      it('and so does one that is asked to stop, again and again', async () => {
        const stops = tally('stops of a run');
        const stream = new HashedStream(`stops ${seed()}`);
        const folder = freshFolder(config);
        let log = '';
        for (let stop = 0; stop < sizes.stops; stop++) {
          const signal = stream.pick(['SIGINT', 'SIGTERM', 'SIGHUP'] as const);
          const ended = await attacked(folder, runOrResume(folder), null, { life: stream.integer(700, 3500), signal });
          log += `${signal}: ${String(ended.code)}\n${ended.stderr}\n`;
          if (ended.code === 0) {
            break;
          }
          const status = existsSync(join(folder, '.c3', 'c3.sqlite'))
            ? withStore(folder, (store) => store.runs(0, 1).map((run) => shownStatus(run, false)))
            : [];
          if (status.every((one) => one === 'cancelled' || one === 'interrupted')) {
            stops.held();
          } else {
            stops.broken(`${signal} left the run ${status.join(', ')}`);
          }
        }
        const last = await attacked(folder, runOrResume(folder), null);
        log += last.stderr;
        assert.deepEqual(whole(folder, log), expected);
      });
    }
  });
}

/** Kills under `c3 grade`, where processes can be found. */
export function gradeKillAttacks(sizes: GradeKillSizes): void {
  if (process.platform !== 'linux') {
    return;
  }
  describe('c3 grade whose sandboxes are killed gives the scores of an undisturbed one, or says which are missing', () => {
    for (const backend of sizes.backends) {
      const count = tally(`kills under c3 grade, ${backend}`);

      it(backend, async () => {
        const folder = freshFolder();
        const code = (wrong: boolean): string =>
          `def f(x):\n    for _ in range(${backend === 'python3' ? '6000000' : '1000000'}): pass\n    return x + ${wrong ? '2' : '1'}`;
        const stdin = Array.from(
          { length: sizes.programs },
          (_, id) => `${JSON.stringify({ id, code: `${code(id % 3 === 0)}\n# ${id}`, tests: ['assert f(1) == 2'] })}\n`,
        ).join('');
        const args = ['grade', '--kind', 'python', '--backend', backend];
        const lines = ({ stdout }: Finished): string[] => stdout.split('\n').filter((line) => line !== '');
        const expected = lines(await attacked(folder, args, null, { stdin }));
        for (let run = 0; run < sizes.grades; run++) {
          // The check of the wall ends the work where it is disturbed: it is left alone.
          const [plan, first] = [drawn(`grades ${backend} ${run}`, 200), backend === 'python3' ? 1200 : 0];
          const ended = await attacked(
            folder,
            args,
            (sandboxes, milliseconds) => (milliseconds < first ? [] : plan(sandboxes, milliseconds)),
            { stdin },
          );
          const found = lines(ended);
          const wrong = found.findIndex((line, index) => line !== expected[index] && !line.includes('"score":null'));
          if (wrong >= 0) {
            count.broken(`${found[wrong] ?? ''} and not ${expected[wrong] ?? ''}`);
          }
          if (ended.code === 0) {
            assert.deepEqual(found, expected);
          } else {
            assert.match(ended.stderr, /lines are masked|refuses to work here/);
          }
          for (let kill = 0; kill < ended.kills; kill++) {
            count.held();
          }
        }
      });
    }
  });
}

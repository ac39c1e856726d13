/**
 * A run that is killed again and again, at every phase, and resumed each time: it ends with the weights and the rows of
 * one that never was.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { connect } from '../../src/store/files/sqlite.ts';
import { jsonl, sums } from '../unit/training/tinyTeam.ts';
import { copyOf, makeWorkspace, withStore } from '../unit/engine/workspace.ts';
import { Onlooker, runUntil, type Moment } from './killed.ts';
import { tablesOf, type Row, type Sizes } from './tables.ts';

const CONFIG = `title: Killed team
model: team
protocol: pair.json
task: {train_file: train.jsonl, evaluation_file: held.jsonl}
steps: 9
instances_per_step: 3
checkpoint_every: 3
snapshot_every: 2
sampling: {max_new_tokens: 6}
ppo: {learning_rate: 0.002}
evaluation: {instances: 6, batch: 2, every: 4}
device: {threads: 1}
`;
const SIZES: Sizes = { batch: 2, evaluated: 6, episodes: 3 * 8 };

let workspace = '';
before(async () => {
  workspace = await makeWorkspace();
  writeFileSync(join(workspace, 'tiny.c3.yaml'), CONFIG);
  writeFileSync(join(workspace, 'train.jsonl'), jsonl(sums(10)));
});
after(() => {
  rmSync(workspace, { recursive: true, force: true });
});

const LOADED = /the model is loaded/;
const at = (line: RegExp, later?: number): Moment => ({ kind: 'line', line, ...(later !== undefined && { later }) });

/** In the order of the run's phases; between two of them the run is resumed. */
const MOMENTS: readonly Moment[] = [
  { kind: 'start', later: 60 },
  { kind: 'start', later: 250 },
  at(LOADED),
  at(/greedy, before training$/m),
  at(/greedy, before training: 2 of 6/),
  at(/greedy, before training: 6 of 6/),
  at(LOADED, 25),
  at(/sampled, before training: 4 of 6/),
  at(/Training: step 1 of 9/),
  at(/Training: step 1 of 9/, 15),
  { kind: 'step' },
  at(LOADED),
  { kind: 'file', name: /^[0-9a-f]{64}\.safetensors\.\d+\.tmp$/ },
  at(/Step 2 of 9/),
  { kind: 'file', name: /^checkpoint-.*\.tmp$/ },
  at(/Executing step \d of [34] again/),
  at(/Step 4 of 9/),
  at(/greedy, after step 4 of 9: 2 of 6/),
  at(/sampled, after step 4 of 9: 6 of 6/),
  at(/Executing step \d of [456] again/),
  at(LOADED, 70),
  { kind: 'step' },
  { kind: 'file', name: /^[0-9a-f]{64}\.safetensors$/ },
  { kind: 'file', name: /^checkpoint-.*\.safetensors$/ },
  at(/Step 7 of 9/, 10),
  at(/Executing step \d of [78] again/),
  at(/Step 9 of 9/),
  at(/greedy, after training$/m),
  at(/greedy, after training: 4 of 6/),
  at(LOADED, 30),
  at(/sampled, after training: 2 of 6/),
  at(/sampled, after training: 6 of 6/),
];

/**
 * Milliseconds from the model's loading to the kill: pseudo-random (a linear congruential generator), the same in every
 * run of this test.
 */
function delays(seed: number, count: number, longest: number): number[] {
  let state = seed;
  return Array.from({ length: count }, () => {
    state = (state * 1664525 + 1013904223) % 2 ** 32;
    return Math.floor((state / 2 ** 32) * longest);
  });
}

interface Result {
  readonly kills: number;
  readonly log: string;
  readonly tables: Readonly<Record<string, readonly Row[]>>;
  readonly weights: string;
  readonly lost: number;
  readonly found: readonly string[];
  readonly looks: number;
  readonly folder: string;
}

/** Runs to the end over all the moments at which it is killed. */
async function interrupted(
  t: TestContext,
  moments: readonly Moment[],
  overrides: readonly string[],
  sizes = SIZES,
): Promise<Result> {
  const folder = copyOf(t, workspace);
  const onlooker = new Onlooker(folder, sizes);
  const begin = ['run', 'tiny.c3.yaml', '--json', ...overrides.flatMap((override) => ['--override', override])];
  const path = join(folder, '.c3', 'c3.sqlite');
  const run = (): string | undefined => {
    try {
      return withStore(folder, (store) => store.runs(0, 1)[0]?.id);
    } catch {
      // Killed before there was a store.
      return undefined;
    }
  };
  let kills = 0;
  let log = '';
  try {
    for (const [index, moment] of [...moments, null].entries()) {
      const id = run();
      const later = moments
        .slice(index + 1)
        .flatMap((next) => (next.kind === 'line' && next.line !== LOADED ? [next.line] : []));
      const { killed, code, stderr } = await runUntil(
        folder,
        id === undefined ? begin : ['run', '--resume', id, '--json'],
        moment,
        later,
        onlooker,
      );
      log += `${moment === null ? 'to the end' : `${moment.kind} ${'line' in moment ? `${String(moment.line)} ${String(moment.later ?? '')}` : 'name' in moment ? String(moment.name) : ''}`}: ${killed ? 'killed' : `ended ${String(code)}`}\n${stderr}\n`;
      if (killed) {
        kills++;
      } else {
        assert.equal(code, 0, log);
      }
    }
  } finally {
    onlooker.close();
  }
  const id = run() ?? assert.fail(log);
  const db = connect(path, 'read');
  try {
    const tables = tablesOf(db, { [id]: 'RUN', [folder]: 'FOLDER' });
    const final = withStore(folder, (store) => store.snapshotsOfRun(id).at(-1)) ?? assert.fail(log);
    assert.ok(final.file !== null);
    const weights = createHash('sha256').update(readFileSync(final.file)).digest('hex');
    const lost = withStore(folder, (store) => store.run(id).summary?.lostEvaluatorCalls ?? NaN);
    return { kills, log, tables, weights, lost, found: [...onlooker.found], looks: onlooker.looks, folder };
  } finally {
    db.close();
  }
}

function assertSame(killed: Result, whole: Result): void {
  assert.equal(killed.weights, whole.weights, killed.log);
  assert.deepEqual(Object.keys(killed.tables), Object.keys(whole.tables));
  for (const [table, rows] of Object.entries(whole.tables)) {
    // What the search index holds depends on its transactions; what it finds does not.
    if (!table.startsWith('message_search')) {
      assert.deepEqual(killed.tables[table], rows, `${table}\n${killed.log}`);
    }
  }
  assert.deepEqual([killed.found, whole.found], [[], []], killed.log);
  assert.ok(killed.looks > 100, `the onlooker looked ${String(killed.looks)} times`);
  assert.deepEqual(
    readdirSync(join(killed.folder, '.c3', 'snapshots')).filter((name) => name.endsWith('.tmp')),
    [],
    'nothing unfinished is left',
  );
}

describe('a run that is killed with SIGKILL', () => {
  it(`comes to the same end over ${String(MOMENTS.length)} kills in all phases`, async (t) => {
    const [whole, killed] = [await interrupted(t, [], []), await interrupted(t, MOMENTS, [])];
    assert.ok(killed.kills >= 25, `${String(killed.kills)} kills\n${killed.log}`);
    t.diagnostic(`${String(killed.kills)} kills, ${String(killed.lost)} evaluator calls lost at most`);
    assertSame(killed, whole);
    // Kills in generation and evaluation cost calls; at most those of the batches under way, 6 instances, 2 or 24 calls
    // at a time.
    assert.equal(whole.lost, 0);
    assert.ok(killed.lost > 0 && killed.lost <= 24 * killed.kills, String(killed.lost));
  });

  // A value head is one thing more that must come back.
  for (const method of ['c3', 'mappo']) {
    it(`comes to the same end over kills at pseudo-random times, with several optimiser steps, k1 and every snapshot kept: ${method}`, async (t) => {
      const overrides = [
        'steps=9',
        'checkpoint_every=2',
        'snapshot_every=1',
        'ppo.epochs=2',
        'ppo.kl_estimator=k1',
        'protocol=four.json',
        'fanout=[2,1,1,2]',
        'evaluator_budget=4',
        `method=${method}`,
      ];
      const moments = delays(1, 10, 300).map((later) => at(LOADED, later));
      const sizes = { ...SIZES, episodes: 3 * 4 };
      const [whole, killed] = [
        await interrupted(t, [], overrides, sizes),
        await interrupted(t, moments, overrides, sizes),
      ];
      t.diagnostic(`${String(killed.kills)} kills, ${String(killed.lost)} evaluator calls lost at most`);
      assert.ok(killed.kills >= 4, `${String(killed.kills)} kills\n${killed.log}`);
      assertSame(killed, whole);
    });
  }
});

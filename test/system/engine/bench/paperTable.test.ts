import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Scale } from '../../../../src/engine/bench/paper/paperScale.ts';
import { stepsAt } from '../../../../src/engine/bench/paper/paperSearch.ts';
import { makePaperTable } from '../../../../src/engine/bench/paper/paperTable.ts';
import { C3Error, CancelledError } from '../../../../src/shared/errors.ts';
import { connect } from '../../../../src/store/files/sqlite.ts';
import { FULL } from '../../../support/scale.ts';
import { tamper } from '../../../support/tamper.ts';
import { openStoreForReading } from '../../../../src/store/read/reader.ts';

/** Of each evaluated question; the table has 10. */
const SAMPLES = 3;

const TASK = { name: 'arithmetic', seeds: [0, 1], steps: 2, searchSteps: 1, rates: [1e-4, 1e-3] } as const;

/** One step of the bundled team at a size that shows nothing but that all of it is there. */
const SCALE: Scale = {
  tasks: [TASK],
  methods: ['sft', 'mappo', 'magrpo', 'c3'],
  budgets: ['calls', 'tokens'],
  first: { methods: ['magrpo', 'c3'], budgets: ['calls'] },
  sampledSeeds: 2,
  searchSeeds: [1000],
  ratesKept: 1,
  run: { instances_per_step: 2, evaluator_budget: 8, 'evaluation.instances': 4, 'evaluation.samples': SAMPLES },
  search: { 'evaluation.samples': 1 },
  sample: { contexts: 2, alternatives: 2, replays: 2, valueSamples: 2 },
};

let folder = '';
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'c3-paper-'));
});
after(() => {
  rmSync(folder, { recursive: true, force: true });
});

interface Line {
  readonly method: string;
  readonly budget: string;
  readonly seed: number;
  readonly run: string;
  readonly evaluatorCalls: number;
  readonly decisions: Record<string, number>;
  readonly greedy: unknown[];
  readonly sampled: { readonly samples: number }[];
  readonly contexts: number;
}

test('the table continues where it was stopped, at one budget for all methods, and runs nothing twice', async () => {
  let told = 0;
  const seeds = FULL ? TASK.seeds : [0];
  const make = (until: number, controller = new AbortController()): Promise<unknown> =>
    makePaperTable(
      {
        quick: true,
        folder,
        signal: controller.signal,
        note: () => {
          if (++told >= until) {
            controller.abort();
          }
        },
      },
      { ...SCALE, tasks: [{ ...TASK, seeds }] },
    );
  await assert.rejects(make(3), CancelledError);
  const path = join(folder, '.c3/paper-table-quick/c3.sqlite');
  const runs = (): number => {
    const store = openStoreForReading(path);
    try {
      return store.countRuns();
    } finally {
      store.close();
    }
  };
  const stopped = runs();
  assert.ok(stopped >= 3);
  await make(Infinity);
  // Three methods try two rates; four have the seeds, of which those that need other steps for equal tokens have more.
  const made = runs();
  const text = (name: string): string => readFileSync(join(folder, '.c3/paper-table-quick', name), 'utf8');
  const first = JSON.parse(text('table.json')) as {
    search: { method: string; chosen: boolean }[];
    runs: Line[];
    table: { rows: { method: string }[] };
  };
  assert.deepEqual(
    first.table.rows.map(({ method }) => method),
    [...SCALE.methods, ...SCALE.methods],
  );
  assert.equal(made, 6 + new Set(first.runs.map(({ run }) => run)).size);
  assert.deepEqual(
    first.search.filter(({ chosen }) => chosen).map(({ method }) => method),
    ['mappo', 'magrpo', 'c3'],
  );
  const atCalls = first.runs.filter(({ budget }) => budget === 'calls');
  for (const { method, evaluatorCalls, decisions, greedy, sampled, contexts } of atCalls) {
    assert.equal(evaluatorCalls, method === 'sft' ? 0 : 2 * 2 * 8);
    // Whole episodes have as many plans as answers; C3 has two plans of four answers each.
    assert.deepEqual(decisions, method === 'sft' ? {} : { reasoner: method === 'c3' ? 8 : 32, actor: 32 });
    assert.deepEqual(
      [greedy.length, sampled.map(({ samples }) => samples), contexts],
      [4, [SAMPLES, SAMPLES, SAMPLES, SAMPLES], 2],
    );
  }
  // C3 spends fewer tokens a step than the method that it is matched with, so that it takes more steps.
  const calls = (method: string, budget: string): number[] =>
    first.runs.filter((one) => one.method === method && one.budget === budget).map((one) => one.evaluatorCalls);
  assert.ok(
    calls('c3', 'tokens').every((spent) => spent > 2 * 2 * 8),
    String(calls('c3', 'tokens')),
  );
  assert.deepEqual(calls('magrpo', 'tokens'), calls('magrpo', 'calls'));
  assert.match(text('table.html'), /<!doctype html>/i);
  await make(Infinity);
  assert.equal(runs(), made);
  const samples = (method: string): number[] => {
    const store = openStoreForReading(path);
    try {
      return atCalls.filter((one) => one.method === method).map(({ run }) => store.diagnosticSamples(run).length);
    } finally {
      store.close();
    }
  };
  const each = (count: number): number[] => seeds.map(() => count);
  assert.deepEqual([samples('mappo'), samples('c3')], [each(1), each(1)]);
  assert.deepEqual((JSON.parse(text('table.json')) as typeof first).runs, first.runs);
  // Samples of MAPPO from before its credits were stored with them are made anew, nothing else is.
  rmSync(join(folder, '.c3/paper-table-quick/runs.jsonl'));
  const db = connect(path, 'write');
  assert.ok(tamper(db, 'DELETE FROM credit WHERE bucket IN (SELECT bucket FROM diagnostic_bucket)') > 0);
  db.close();
  await make(Infinity);
  assert.deepEqual([runs(), samples('mappo'), samples('c3')], [made, each(2), each(1)]);
  assert.deepEqual(
    readdirSync(join(folder, '.c3/paper-table-quick')).filter((name) => name.endsWith('.tmp')),
    [],
  );
});

test('another machine goes on from the finished runs alone, and compares no times of the two', async () => {
  const [one, other] = ['here, 2 cores', 'there, 8 cores'];
  const scale: Scale = {
    ...SCALE,
    methods: ['magrpo', 'c3'],
    budgets: ['calls', 'seconds'],
    first: { methods: [], budgets: [] },
  };
  const notes: string[] = [];
  const make = (
    out: string,
    from: string | null,
    hardware: string,
    stopAfter: number,
    by = scale,
  ): Promise<unknown> => {
    const controller = new AbortController();
    return makePaperTable(
      {
        quick: true,
        folder,
        out,
        from,
        signal: controller.signal,
        note: (line) => {
          notes.push(line);
          if (notes.length === stopAfter) {
            controller.abort();
          }
        },
      },
      by,
      hardware,
    );
  };
  // The search is four runs and two pages; the first seed another three runs at least, with their page.
  await assert.rejects(make('a', null, one, 10), CancelledError);
  const page = readFileSync(join(folder, 'a/table.html'), 'utf8');
  assert.match(page, /Not finished/);
  assert.match(page, /4 of 4 runs of the search, 1 of 2 seeds of arithmetic with all methods/);
  const finished = readFileSync(join(folder, 'a/runs.jsonl'), 'utf8').trimEnd().split('\n');
  assert.ok(finished.length > 6, String(finished.length));
  rmSync(join(folder, 'a/c3.sqlite'));

  notes.length = 0;
  await make('b', 'a/runs.jsonl', other, Infinity);
  const ran = notes.filter((line) => line.includes('of this session'));
  assert.ok(ran.length > 0 && ran.every((line) => line.includes('seed 1,')), ran.join('\n'));
  const lines = readFileSync(join(folder, 'b/runs.jsonl'), 'utf8').trimEnd().split('\n');
  assert.deepEqual(lines.slice(0, finished.length), finished);
  const { runs, table } = JSON.parse(readFileSync(join(folder, 'b/table.json'), 'utf8')) as {
    runs: { seed: number; budget: string; seconds: number | null }[];
    table: { rows: { budget: string; method: string; measures: { seconds: { n: number } | null } }[] };
  };
  for (const { seed, budget, seconds } of runs) {
    assert.equal(seconds === null, seed === 1, `${budget}, seed ${String(seed)}`);
    assert.ok(budget === 'calls' || seed === 0);
  }
  assert.deepEqual(
    table.rows.map(({ budget, measures }) => `${budget} ${String(measures.seconds?.n)}`),
    ['calls 1', 'calls 1', 'seconds 1', 'seconds 1'],
  );
  const whole = readFileSync(join(folder, 'b/table.html'), 'utf8');
  assert.doesNotMatch(whole, /Not finished/);
  assert.match(
    whole,
    /here, 2 cores[^;]*: search \(4 runs\), arithmetic seed 0; there, 8 cores[^;]*: arithmetic seed 1</,
  );

  // Of a file with a gap the rest shows before the gap is filled.
  const gap = lines.filter((line) => !line.includes('"seed":0,'));
  assert.ok(gap.length < lines.length);
  writeFileSync(join(folder, 'gap.jsonl'), `${gap.join('\n')}\n`);
  notes.length = 0;
  await assert.rejects(make('d', 'gap.jsonl', other, 3), CancelledError);
  assert.deepEqual(
    (JSON.parse(readFileSync(join(folder, 'd/table.json'), 'utf8')) as { runs: { seed: number }[] }).runs.map(
      ({ seed }) => seed,
    ),
    [1, 1],
  );

  const refused = (from: string, says: RegExp, by: Scale = scale): Promise<void> =>
    assert.rejects(
      make('c', from, one, Infinity, by),
      (error) => error instanceof C3Error && error.kind === 'input' && says.test(error.message),
    );
  await refused(
    'a/runs.jsonl',
    /line 1: the run of arithmetic, magrpo, seed 1000 was made with another configuration;/,
    { ...scale, run: { ...scale.run, instances_per_step: 4 } },
  );
  await refused('a/runs.jsonl', /line 5: .* was made with another diagnostic sample;/, {
    ...scale,
    sample: { ...scale.sample, replays: 3 },
  });
  await refused('a/runs.jsonl', /line 1: .* was made with another length of the search;/, {
    ...scale,
    tasks: scale.tasks.map((task) => ({ ...task, searchSteps: 3 })),
  });
  for (const [field, says] of [
    ['definitions', /line 1: .* was made with other definitions of the methods;/],
    ['team', /line 1: .* was made with another team or other questions;/],
  ] as const) {
    const line = JSON.parse(finished[0] ?? '') as Record<string, unknown>;
    writeFileSync(join(folder, 'changed.jsonl'), JSON.stringify({ ...line, [field]: field === 'team' ? 'x' : 0 }));
    await refused('changed.jsonl', says);
  }
  writeFileSync(join(folder, 'cut.jsonl'), `${finished[0] ?? ''}\n{"part"`);
  await refused('cut.jsonl', /cut\.jsonl, line 2 is no run of a paper table: .*; name a file of runs/);
  await refused('absent.jsonl', /Cannot read .*absent\.jsonl/);
  assert.ok(!existsSync(join(folder, 'c/runs.jsonl')));
});

test('steps at a budget cost what those of the matched method do', () => {
  const [own, matched] = [
    { tokens: 400, seconds: 5 },
    { tokens: 800, seconds: 12 },
  ];
  assert.equal(stepsAt('calls', 24, own, matched), 24);
  assert.equal(stepsAt('tokens', 24, own, matched), 48);
  assert.equal(stepsAt('seconds', 24, own, matched), 58);
  assert.equal(stepsAt('tokens', 24, null, matched), 24);
  assert.equal(stepsAt('tokens', 1, { tokens: 1e9, seconds: 1 }, matched), 1);
});

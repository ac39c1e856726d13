import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Scale } from '../../../../src/bench/experiments/paper/paperScale.ts';
import { computeStepsAtBudget } from '../../../../src/bench/experiments/paper/paperSearch.ts';
import { makePaperTable } from '../../../../src/bench/experiments/paper/paperTable.ts';
import { C3Error, CancelledError } from '../../../../src/shared/errors.ts';
import { TABLE_SCALE as SCALE } from '../../../system/bench/tableScale.ts';

let folder = '';
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'c3-paper-'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

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
    assert.equal(seconds === null, seed === 1, `${budget}, seed ${seed}`);
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
  assert.equal(computeStepsAtBudget('calls', 24, own, matched), 24);
  assert.equal(computeStepsAtBudget('tokens', 24, own, matched), 48);
  assert.equal(computeStepsAtBudget('seconds', 24, own, matched), 58);
  assert.equal(computeStepsAtBudget('tokens', 24, null, matched), 24);
  assert.equal(computeStepsAtBudget('tokens', 1, { tokens: 1e9, seconds: 1 }, matched), 1);
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KeptRun } from '../../../src/bench/experiments/paper/paperRecord.ts';
import {
  countSearchRuns,
  listSearchRuns,
  listTableParts,
  type Scale,
  type Task,
} from '../../../src/bench/experiments/paper/paperScale.ts';
import {
  pickBestRate,
  describeHardwareRuns,
  pickKeptRates,
  findOnlyHardware,
  makeSearchLines,
} from '../../../src/bench/experiments/paper/paperSearch.ts';

const ARITHMETIC: Task = { name: 'arithmetic', seeds: [0], steps: 2, searchSteps: 1, rates: [1e-4, 3e-4, 1e-3] };
const PYTHON: Task = { name: 'python', seeds: [0], steps: 2, searchSteps: 3, rates: [1e-4, 1e-2] };
const SCALE: Scale = {
  tasks: [ARITHMETIC, PYTHON],
  methods: ['sft', 'magrpo', 'c3'],
  budgets: ['calls'],
  first: { methods: ['magrpo', 'c3'], budgets: ['calls'] },
  sampledSeeds: 1,
  searchSeeds: [1000, 1001],
  ratesKept: 2,
  run: {},
  search: {},
  sample: { contexts: 1, alternatives: 1, replays: 1, valueSamples: 1 },
};

/** A run that solved so many of ten samples. */
const tried = (
  method: KeptRun['method'],
  seed: number,
  rate: number,
  solved: number,
  more: Partial<KeptRun> = {},
): KeptRun => ({
  part: 'search',
  task: 'arithmetic',
  method,
  seed,
  rate,
  steps: 1,
  sample: null,
  hardware: 'here',
  environment: 'Node 24',
  version: '0',
  run: {
    task: 'arithmetic',
    method,
    seed,
    run: 'x',
    greedy: [],
    sampled: [{ solved, samples: 10 }],
    fidelity: null,
    variance: null,
    influence: null,
    publishedInfluence: null,
    contexts: 0,
    evaluatorCalls: 8,
    tokens: { prompt: 10 * solved, reused: 0, completion: seed },
    decisions: {},
    seconds: solved,
    curve: [],
  },
  ...more,
});

describe('the search', () => {
  it('tries all rates of all methods that train with the first seed', () => {
    const runs = listSearchRuns(SCALE, 1000, () => true);
    assert.equal(runs.length, 2 * (3 + 2));
    assert.ok(runs.every(({ seed }) => seed === 1000));
    assert.deepEqual(
      runs.map(({ task, method, rate, steps }) => [task, method, rate, steps]),
      [
        ['arithmetic', 'magrpo', 1e-4, 1],
        ['arithmetic', 'c3', 1e-4, 1],
        ['python', 'magrpo', 1e-4, 3],
        ['python', 'c3', 1e-4, 3],
        ['arithmetic', 'magrpo', 3e-4, 1],
        ['arithmetic', 'c3', 3e-4, 1],
        ['arithmetic', 'magrpo', 1e-3, 1],
        ['arithmetic', 'c3', 1e-3, 1],
        ['python', 'magrpo', 1e-2, 3],
        ['python', 'c3', 1e-2, 3],
      ],
    );
  });

  it('goes on with the rates that did best for a method', () => {
    const found = [
      tried('c3', 1000, 1e-4, 5),
      tried('c3', 1000, 3e-4, 4),
      tried('c3', 1000, 1e-3, 9),
      tried('magrpo', 1000, 1e-4, 3),
      tried('magrpo', 1000, 3e-4, 3),
      tried('magrpo', 1000, 1e-3, 3),
      // What another seed or task came to is none of its business.
      tried('c3', 1001, 3e-4, 10),
      tried('c3', 1000, 3e-4, 10, { task: 'python' }),
    ];
    assert.deepEqual(pickKeptRates(SCALE, ARITHMETIC, 'c3', found), new Set([1e-3, 1e-4]));
    assert.deepEqual(pickKeptRates(SCALE, ARITHMETIC, 'magrpo', found), new Set([1e-4, 3e-4]));
    const runs = listSearchRuns(SCALE, 1001, (task, method, rate) =>
      pickKeptRates(SCALE, task, method, found).has(rate),
    );
    assert.deepEqual(
      runs.filter(({ task }) => task === 'arithmetic').map(({ method, rate }) => [method, rate]),
      [
        ['magrpo', 1e-4],
        ['c3', 1e-4],
        ['magrpo', 3e-4],
        ['c3', 1e-3],
      ],
    );
    // Two methods and two tasks: three and two rates with the first seed, as many as are kept with the second.
    assert.equal(countSearchRuns(SCALE), 2 * (3 + 2 + 2 + 2));
    assert.equal(countSearchRuns({ ...SCALE, ratesKept: 7 }), 2 * (3 + 3 + 2 + 2));
    assert.equal(countSearchRuns({ ...SCALE, searchSeeds: [1000] }), 2 * (3 + 2));
  });

  it('chooses the rate with the best mean over seeds, not the best run, among those with most seeds', () => {
    const found = [
      tried('c3', 1000, 3e-4, 8),
      tried('c3', 1000, 1e-4, 5),
      tried('c3', 1001, 1e-4, 6),
      tried('c3', 1000, 1e-3, 9),
      tried('c3', 1001, 1e-3, 1),
      tried('magrpo', 1000, 1e-3, 10),
    ];
    const { rate, cost } = pickBestRate(ARITHMETIC, 'c3', found);
    assert.equal(rate, 1e-4);
    // Tokens at this rate; seconds are the median of 8, 5, 6, 9 and 1.
    assert.deepEqual(cost, { tokens: (50 + 60 + 1000 + 1001) / 2, seconds: 6 });
    assert.deepEqual(pickBestRate(ARITHMETIC, 'sft', found), { rate: 1e-4, cost: null });
  });

  it('shows means of the rates that all methods have tried, over the seeds of each', () => {
    const found = [
      tried('c3', 1000, 1e-4, 5),
      tried('magrpo', 1000, 1e-4, 4),
      tried('c3', 1001, 1e-4, 9),
      tried('c3', 1000, 1e-3, 9),
    ];
    assert.deepEqual(makeSearchLines(SCALE, found, null), [
      { task: 'arithmetic', method: 'magrpo', rate: 1e-4, value: 0.4, seeds: 1, chosen: false },
      { task: 'arithmetic', method: 'c3', rate: 1e-4, value: 0.7, seeds: 2, chosen: false },
    ]);
    const chosen = makeSearchLines(SCALE, found, () => 1e-4);
    assert.ok(chosen.every((line) => line.chosen));
  });
});

describe('the table', () => {
  it('has the first comparison with all seeds before it has anything else, and the rest seed by seed', () => {
    const [one, two] = SCALE.tasks.map((task, index) => ({ ...task, seeds: index === 0 ? [0, 1] : [0] }));
    assert.ok(one !== undefined && two !== undefined);
    const scale: Scale = { ...SCALE, tasks: [one, two], budgets: ['calls', 'tokens'] };
    const first = { methods: ['magrpo', 'c3'], budgets: ['calls'] };
    const rest = { methods: ['sft', 'magrpo', 'c3'], budgets: ['calls', 'tokens'] };
    assert.deepEqual(listTableParts(scale), [
      { task: one, seed: 0, ...first },
      { task: two, seed: 0, ...first },
      { task: one, seed: 1, ...first },
      { task: one, seed: 0, ...rest },
      { task: two, seed: 0, ...rest },
      { task: one, seed: 1, ...rest },
    ]);
    assert.equal(listTableParts({ ...scale, first: { methods: [], budgets: [] } }).length, 3);
  });
});

describe('hardware', () => {
  const table = (seed: number, hardware: string): KeptRun => tried('c3', seed, 1e-4, 1, { part: 'table', hardware });

  it('is one, or times compare nothing', () => {
    assert.equal(findOnlyHardware([]), null);
    assert.equal(findOnlyHardware([table(0, 'here'), table(1, 'here')]), 'here');
    assert.equal(findOnlyHardware([table(0, 'here'), table(1, 'there')]), null);
  });

  it('is listed with the runs that it made', () => {
    const runs = [tried('c3', 1000, 1e-4, 1), table(2, 'here'), table(0, 'here'), table(2, 'here'), table(1, 'there')];
    assert.equal(
      describeHardwareRuns(runs),
      'here, Node 24: search (1 run), arithmetic seeds 0, 2; there, Node 24: arithmetic seed 1',
    );
  });
});

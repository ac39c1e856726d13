import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compareMethods, readMeasure, type MethodRun } from '../../../src/diagnostics/methods/methodComparison.ts';
import { buildMethodTable, type Claim } from '../../../src/diagnostics/methods/methodTable.ts';

/** @param solved of each problem: whether greedily, and of ten samples */
function run(
  method: string,
  seed: number,
  solved: readonly (readonly [greedy: number, sampled: number])[],
  changes: Partial<MethodRun> = {},
): MethodRun {
  return {
    task: 'sums',
    budget: 'calls',
    method,
    seed,
    run: `${method}-${seed}`,
    greedy: solved.map(([greedy]) => ({ solved: greedy, samples: 1 })),
    sampled: solved.map(([, sampled]) => ({ solved: sampled, samples: 10 })),
    fidelity: null,
    variance: null,
    influence: null,
    publishedInfluence: null,
    contexts: 0,
    evaluatorCalls: 100,
    tokens: { prompt: 600, reused: 100, completion: 400 },
    decisions: { reasoner: 8, actor: 16 },
    seconds: 2,
    curve: [],
    ...changes,
  };
}

const claim = (claims: readonly Claim[], words: RegExp): Claim | undefined =>
  claims.find((one) => words.test(one.claim));

describe('a run', () => {
  it('counts greedy, pass@1, pass@10 and tokens, masked problems left out', () => {
    const one = run(
      'c3',
      0,
      [
        [1, 10],
        [0, 0],
        [1, 1],
      ],
      {},
    );
    assert.equal(readMeasure(one, 'greedy'), 2 / 3);
    assert.equal(readMeasure(one, 'pass1'), (1 + 0 + 0.1) / 3);
    // One success of ten samples is always among the ten.
    assert.equal(readMeasure(one, 'pass10'), 2 / 3);
    assert.equal(readMeasure(one, 'tokens'), 1000);
    assert.equal(readMeasure(one, 'fidelity'), null);
    const masked = {
      ...one,
      greedy: [
        { solved: 0, samples: 0 },
        { solved: 1, samples: 1 },
      ],
      sampled: [{ solved: 2, samples: 9 }],
    };
    assert.equal(readMeasure(masked, 'greedy'), 1);
    assert.equal(readMeasure(masked, 'pass10'), null);
  });
});

describe('two methods', () => {
  const wins = (seed: number): MethodRun[] => [
    run(
      'magrpo',
      seed,
      Array.from({ length: 40 }, (_, index) => [index % 2, 5]),
    ),
    run(
      'c3',
      seed,
      Array.from({ length: 40 }, (_, index) => [index % 4 === 0 ? 0 : 1, 5]),
    ),
  ];

  it('are compared on the problems and seeds that both have', () => {
    const [first, second, third] = [wins(0), wins(1), wins(2)];
    const magrpo = [first[0], second[0], third[0]].flatMap((one) => one ?? []);
    const c3 = [second[1], first[1]].flatMap((one) => one ?? []);
    const found = compareMethods(magrpo, c3, 'greedy');
    // Half of the problems against three quarters of them, in both seeds alike.
    assert.deepEqual(found?.difference, { value: 0.25, low: null, high: null, n: 2 });
    // Both seeds show the same sign: one of two choices of signs on either side.
    assert.deepEqual([found.signFlip?.p, found.signFlip?.n], [0.5, 2]);
    assert.equal(compareMethods(magrpo, c3, 'fidelity'), null);
    assert.equal(compareMethods(magrpo, [], 'greedy'), null);
  });

  it('of the same seed need the same problems', () => {
    assert.throws(
      () =>
        compareMethods(
          [run('magrpo', 0, [[1, 1]])],
          [
            run('c3', 0, [
              [1, 1],
              [0, 0],
            ]),
          ],
          'greedy',
        ),
      /magrpo-0 and c3-0 were evaluated on 1 and 2 problems/,
    );
  });

  it('differ by an interval over their training seeds, accuracies too', () => {
    const at = (method: string, values: readonly number[]): MethodRun[] =>
      values.map((variance, seed) => run(method, seed, [[1, variance]], { variance }));
    const found = compareMethods(at('magrpo', [1, 2, 3]), at('c3', [2, 4, 6]), 'variance');
    // Differences 1, 2, 3: mean 2, standard error 1/sqrt(3), t(0.975, 2) = 4.3026527297.
    assert.equal(found?.difference.value, 2);
    assert.ok(Math.abs((found.difference.low ?? 0) - (2 - 4.302652729696142 / Math.sqrt(3))) < 1e-9);
    assert.ok(Math.abs((found.pairedT?.p ?? 0) - 0.07417990022744847) < 1e-9);
    // Of ten samples 1, 2 and 3 more.
    const share = compareMethods(at('magrpo', [1, 2, 3]), at('c3', [2, 4, 6]), 'pass1');
    assert.ok(Math.abs((share?.difference.low ?? 0) - (found.difference.low ?? 0) / 10) < 1e-12);
  });
});

describe('the table', () => {
  it('has a row for each method in the order given, with mean and deviation over seeds', () => {
    const runs = [0, 1].flatMap((seed) => [
      run('c3', seed, [[seed, 5]]),
      run('own', seed, [[1, 5]]),
      run('sft', seed, [[0, 5]], { curve: [{ step: 1, meanReturn: seed, evaluatorCalls: 8, tokens: 10 + seed }] }),
    ]);
    const { rows, comparisons } = buildMethodTable(runs, ['sft', 'c3']);
    assert.deepEqual(
      rows.map(({ method }) => method),
      ['sft', 'c3', 'own'],
    );
    const c3 = rows[1];
    assert.deepEqual(
      [c3?.seeds, c3?.measures.greedy?.mean, c3?.measures.greedy?.standardDeviation],
      [[0, 1], 0.5, Math.SQRT1_2],
    );
    assert.equal(c3?.measures.fidelity, null);
    assert.equal(c3.decisions['actor']?.mean, 16);
    assert.deepEqual(
      rows[0]?.curve.map(({ step, tokens, meanReturn }) => [step, tokens, meanReturn.value, meanReturn.n]),
      [[1, 10.5, 0.5, 2]],
    );
    assert.deepEqual([...new Set(comparisons.map(({ first, second }) => `${first} ${second}`))], ['sft c3', 'own c3']);
  });

  it('says of each claim whether it held, was reversed, is undecided or was not measured', () => {
    const many = (share: number): (readonly [number, number])[] =>
      Array.from({ length: 200 }, (_, index) => [1, index < Math.round(200 * share) ? 10 : 0]);
    const cheap = { tokens: { prompt: 300, reused: 0, completion: 300 } };
    const runs = [0, 1, 2].flatMap((seed) => [
      run('c3', seed, many(0.8 + seed / 200), { ...cheap, influence: 0.1 + seed / 100 }),
      run('magrpo', seed, many(0.6), { influence: 0.3 + seed / 50 }),
      run('mappo', seed, many(0.7), { influence: 0.05 + seed / 200 }),
      run('sft', seed, many(0.69 + seed / 100), { influence: null }),
    ]);
    const { claims } = buildMethodTable(runs, []);
    assert.equal(claim(claims, /C3 is more accurate than MAGRPO/)?.verdict, 'held');
    assert.match(
      claim(claims, /C3 is more accurate than MAGRPO/)?.evidence ?? '',
      /^c3 − magrpo: 20\.5 \[\d+\.\d, \d+\.\d\] points$/,
    );
    assert.equal(claim(claims, /MAGRPO is more accurate than MAPPO/)?.verdict, 'reversed');
    assert.equal(claim(claims, /MAPPO is more accurate than SFT/)?.verdict, 'undecided');
    assert.equal(claim(claims, /Without replay/)?.verdict, 'not measured');
    // Against MAPPO it holds, against MAGRPO it is reversed.
    assert.equal(claim(claims, /highest influence/)?.verdict, 'reversed');
    assert.deepEqual(
      [claim(claims, /fewer tokens/)?.verdict, claim(claims, /fewer tokens/)?.evidence],
      ['held', 'tokens of c3 / tokens of magrpo: 0.600'],
    );
  });

  it('keeps budgets apart, and claims of credit to equal evaluator calls', () => {
    const seeds = [0, 1, 2];
    const runs = seeds.flatMap((seed) => [
      run('c3', seed, [[1, 4 + seed]]),
      run('magrpo', seed, [[1, 5 + seed]]),
      run('c3', seed, [[1, 9]], { budget: 'tokens' }),
      run('magrpo', seed, [[1, 5 + seed]], { budget: 'tokens' }),
    ]);
    const { rows, comparisons, claims } = buildMethodTable(runs, []);
    assert.deepEqual(
      rows.map(({ budget, method, seeds: n }) => [budget, method, n.length]),
      [
        ['calls', 'c3', 3],
        ['calls', 'magrpo', 3],
        ['tokens', 'c3', 3],
        ['tokens', 'magrpo', 3],
      ],
    );
    const differences = comparisons.filter(({ measure }) => measure === 'pass1');
    assert.deepEqual(
      differences.map(({ budget, difference }) => [budget, Number(difference.value.toFixed(6))]),
      [
        ['calls', -0.1],
        ['tokens', 0.3],
      ],
    );
    assert.equal(claims.filter(({ budget }) => budget === 'tokens').length, 5);
    assert.ok(claims.every(({ budget, claim: words }) => budget === 'calls' || /accurate/.test(words)));
  });

  it('decides nothing on one seed where only seeds can say', () => {
    const { claims } = buildMethodTable(
      [run('c3', 0, [[1, 5]], { influence: 2 }), run('magrpo', 0, [[1, 5]], { influence: 1 })],
      [],
    );
    assert.equal(claim(claims, /highest influence/)?.verdict, 'undecided');
  });
});

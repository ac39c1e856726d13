import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findHighInfluence, findLowVariance, findReturnsWithoutAccuracy } from '../../../src/diagnostics/review.ts';
import {
  averageAtK,
  averagePassAtK,
  samplingError,
  type Samples,
} from '../../../src/diagnostics/statistics/accuracy.ts';
import { bootstrap, bootstrapMean, quantile } from '../../../src/diagnostics/statistics/bootstrap.ts';
import type { Pair } from '../../../src/diagnostics/statistics/rank.ts';
import { mcnemarTest, summarizeSeeds, pairedTTest, signFlipTest } from '../../../src/diagnostics/statistics/seeds.ts';
import { C3Error } from '../../../src/shared/errors.ts';

const close = (actual: number | null | undefined, expected: number, tolerance = 1e-9): void => {
  assert.ok(
    typeof actual === 'number' && Math.abs(actual - expected) <= tolerance,
    `${String(actual)} is not ${expected}`,
  );
};
const FIRST = [0.61, 0.64, 0.58, 0.66, 0.62];
const SECOND = [0.66, 0.67, 0.6, 0.65, 0.7];
const SEEDS = FIRST.map((value, index): Pair => [value, SECOND[index] ?? 0]);

describe('accuracy over problems', () => {
  const problems: Samples[] = [
    [1, 0, 0, 0],
    [0, 0, 0, 0],
    [1, 1, 0, 0],
    [null, 1, 1, 1],
  ];

  it('pass@k is unbiased: the mean over all k-subsets of the samples', () => {
    // Brute force over the pairs of each problem: 3/6, 0, 5/6, 1.
    close(averagePassAtK(problems, 2)?.interval.value, (3 / 6 + 0 + 5 / 6 + 1) / 4);
    const four = averagePassAtK(problems, 4);
    assert.deepEqual([four?.interval.value, four?.interval.n, four?.leftOut], [2 / 3, 3, 1]);
    assert.equal(averagePassAtK(problems, 5), null);
    assert.throws(() => averagePassAtK(problems, 0), C3Error);
  });

  it('avg@k is the mean of the samples, with the error of sampling', () => {
    const found = averageAtK(problems);
    close(found?.interval.value, (0.25 + 0 + 0.5 + 1) / 4);
    assert.deepEqual([found?.method, found?.interval.n], ['bootstrap', 4]);
    close(samplingError(problems.slice(0, 3)), Math.sqrt((0.1875 + 0 + 0.25) / 3 / 12));
    assert.deepEqual([samplingError(problems), samplingError([]), averageAtK([[null]])], [null, null, null]);
  });

  it('takes Wilson where every problem has one sample', () => {
    const found = averagePassAtK([[1], [1], [0], [1], [null]], 1);
    assert.deepEqual([found?.method, found?.leftOut, found?.interval.n], ['wilson', 1, 4]);
    close(found?.interval.low, 0.30064184258240184);
    close(found?.interval.high, 0.9544127391902995);
  });
});

describe('bootstrap', () => {
  it('covers as often as it says', () => {
    const values = Array.from({ length: 30 }, (_, i) => Math.sin(i * 12.9898) * 3);
    const found = bootstrapMean(values, 1);
    const mean = values.reduce((a, b) => a + b) / 30;
    const error = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / 30 / 30);
    close(found?.low, mean - 1.96 * error, 0.1 * error);
    close(found?.high, mean + 1.96 * error, 0.1 * error);
    assert.deepEqual(bootstrapMean(values, 1), found);
    assert.notDeepEqual(bootstrapMean(values, 2), found);
  });

  it('has no bounds where it shows no uncertainty, and no value where the statistic has none', () => {
    assert.deepEqual(bootstrapMean([2]), { value: 2, low: null, high: null, n: 1 });
    assert.deepEqual(bootstrapMean([2, 2, 2]), { value: 2, low: null, high: null, n: 3 });
    assert.equal(
      bootstrap([1, 2], () => null),
      null,
    );
    // A statistic that most resamples do not have.
    assert.equal(
      bootstrap([0, 0, 0, 1, 2], (drawn) =>
        drawn.includes(1) && drawn.includes(2) ? drawn.reduce((x, y) => x + y) : null,
      )?.low,
      null,
    );
    assert.deepEqual(
      [quantile([1, 2, 4], 0.5), quantile([1, 2, 4], 0.75), quantile([-Infinity, -Infinity], 0.5)],
      [2, 3, -Infinity],
    );
  });
});

describe('over seeds', () => {
  it('mean, standard deviation and interval as SciPy has them', () => {
    const found = summarizeSeeds(FIRST);
    close(found?.mean, 0.622);
    close(found?.standardDeviation, 0.03033150177620623);
    close(found?.interval.low, 0.5843384662330313);
    close(found?.interval.high, 0.6596615337669689);
    assert.deepEqual(summarizeSeeds([1]), {
      mean: 1,
      standardDeviation: null,
      n: 1,
      interval: { value: 1, low: null, high: null, n: 1 },
    });
    // Accuracies of 0 and 1 are no trials: Student's t, not Wilson.
    assert.ok((summarizeSeeds([0, 1, 1])?.interval.high ?? 0) > 1);
    assert.equal(summarizeSeeds([]), null);
  });

  it('paired tests as SciPy has them', () => {
    close(pairedTTest(SEEDS)?.p, 0.08652277994601196);
    close(signFlipTest(SEEDS)?.p, 0.125);
    close(signFlipTest(SEEDS)?.difference, 0.034);
    close(signFlipTest(FIRST.map((value): Pair => [value, value + 0.1]))?.p, 2 / 32);
    assert.deepEqual(
      [
        pairedTTest([
          [1, 2],
          [2, 3],
        ]),
        signFlipTest([]),
        signFlipTest(Array.from({ length: 21 }, (): Pair => [0, 1])),
      ],
      [null, null, null],
    );
  });

  it("McNemar's exact test", () => {
    const pairs = (gained: number, lost: number, same: number): Pair[] => [
      ...Array.from({ length: gained }, (): Pair => [0, 1]),
      ...Array.from({ length: lost }, (): Pair => [1, 0]),
      ...Array.from({ length: same }, (_, i): Pair => [i % 2, i % 2]),
    ];
    // SciPy's binomtest: 3 of 15, 0 of 6, 5 of 10.
    close(mcnemarTest(pairs(12, 3, 5))?.p, 0.03515625);
    close(mcnemarTest(pairs(12, 3, 5))?.difference, 9 / 20);
    close(mcnemarTest(pairs(0, 6, 0))?.p, 0.03125);
    assert.deepEqual([mcnemarTest(pairs(5, 5, 1))?.p, mcnemarTest(pairs(0, 0, 4))?.p, mcnemarTest([])], [1, 1, null]);
    assert.throws(() => mcnemarTest([[0.5, 1]]), C3Error);
  });
});

describe('review signals', () => {
  const contexts = (values: readonly number[], role = 'reasoner') =>
    values.map((value, index) => ({ bucket: `${role} ${index}`, role, value }));
  const usual = [0.1, 0.11, 0.12, 0.13, 0.14, 0.15, 0.16, 0.17, 0.18];

  it('a context far above its role in influence', () => {
    const found = findHighInfluence([...contexts([...usual, 0.9]), ...contexts([5, 6, 5, 6, 5, 6, 5, 6], 'critic')]);
    assert.deepEqual(
      found.map(({ name, bucket, value }) => [name, bucket, value]),
      [['high influence', 'reasoner 9', 0.9]],
    );
    assert.match(found[0]?.evidence ?? '', /0\.9 nats, above 0\.\d+ \(Q3 \+ 3 IQR of 10 contexts\)/);
    assert.deepEqual(findHighInfluence(contexts([0.1, 0.1, 9])), []);
  });

  it('a context far below its role in variance, unless many have none', () => {
    assert.deepEqual(
      findLowVariance(contexts([...usual, 0])).map(({ bucket, value }) => [bucket, value]),
      [['reasoner 9', 0]],
    );
    assert.deepEqual(findLowVariance(contexts([...usual, 0.001])).length, 1);
    assert.deepEqual(findLowVariance(contexts([0, 0, 0, 0, ...usual])), []);
    assert.deepEqual(findLowVariance(contexts(usual)), []);
  });

  it('returns that rise while accuracy falls', () => {
    const rising = [0.2, 0.25, 0.22, 0.4, 0.5, 0.45, 0.7, 0.75, 0.72];
    const falls = { value: -0.05, low: -0.1, high: 0.01, n: 512 };
    assert.match(
      findReturnsWithoutAccuracy(rising, falls)?.evidence ?? '',
      /Mean return rose by 0\.5 .* while held-out accuracy changed by -0\.05 \(95 % interval -0\.1 to 0\.01, n=512\)/,
    );
    assert.deepEqual(
      [
        findReturnsWithoutAccuracy(rising, { ...falls, value: 0.01 }),
        findReturnsWithoutAccuracy(rising, null),
        findReturnsWithoutAccuracy([...rising].reverse(), falls),
        findReturnsWithoutAccuracy([0.1, 0.9], falls),
      ],
      [null, null, null, null],
    );
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { measureFidelity, measurePublishedFidelity } from '../../../src/diagnostics/fidelity.ts';
import { averageRanks, pearson, spearman } from '../../../src/diagnostics/statistics/rank.ts';
import { pairwiseSum } from '../../../src/diagnostics/statistics/summation.ts';
import {
  contextVariance,
  measurePublishedVariance,
  measureWithinContextVariance,
} from '../../../src/diagnostics/variance.ts';
import { bucket, IRREGULAR } from './buckets.ts';

const close = (actual: number | null | undefined, expected: number, tolerance = 1e-9): void => {
  assert.ok(
    typeof actual === 'number' && Math.abs(actual - expected) <= tolerance,
    `${String(actual)} is not ${expected}`,
  );
};

describe('ranks', () => {
  it('are averaged where values are tied', () => {
    assert.deepEqual(averageRanks([3, 1, 3, 2, 3]), [4, 1, 4, 2, 4]);
    assert.deepEqual(averageRanks([]), []);
  });

  it('give the published correlation of (1,1),(2,2),(2,1),(3,5)', () => {
    close(
      spearman([
        [1, 1],
        [2, 2],
        [2, 1],
        [3, 5],
      ]),
      5 / 6,
    );
    close(
      spearman([
        [1, 3],
        [2, 2],
        [3, 1],
      ]),
      -1,
    );
  });

  it('have no correlation where a side is constant or there is one pair', () => {
    assert.deepEqual(
      [
        spearman([
          [1, 2],
          [1, 3],
        ]),
        spearman([[1, 2]]),
        pearson([]),
      ],
      [null, null, null],
    );
  });
});

describe('fidelity', () => {
  // NumPy in the published order of operations and SciPy's ranks, on the same numbers.
  it('is the pooled rank correlation of credit and target, the value from its own samples', () => {
    const loo = measureFidelity(IRREGULAR, 'loo');
    close(loo.real?.value, 0.8204276211947296);
    close(loo.all?.value, 0.8242675099330777);
    const mean = measureFidelity(IRREGULAR, 'full_mean');
    close(mean.real?.value, 0.8268551236749118);
    close(mean.all?.value, 0.8278466079844028);
    assert.deepEqual(
      [loo.degenerate, loo.pairs, loo.withoutValue, loo.real?.n, loo.all?.n],
      [null, { real: 12, all: 48 }, 0, 12, 12],
    );
    for (const interval of [loo.real, loo.all]) {
      assert.ok(
        (interval?.low ?? NaN) < (interval?.value ?? NaN) && (interval?.value ?? NaN) < (interval?.high ?? NaN),
      );
    }
    const published = measurePublishedFidelity(IRREGULAR, 'loo', true);
    close(published.real, 0.8204276211947296);
    close(published.all, 0.8242675099330777);
  });

  it('is not given, and says so, where the value would come from the same alternatives', () => {
    const bare = IRREGULAR.map((one) => ({ ...one, valueCount: 0 }));
    const found = measureFidelity(bare, 'loo');
    assert.deepEqual([found.real, found.all, found.withoutValue], [null, null, 12]);
    assert.match(found.degenerate ?? '', /would be 1 whatever/);
    // The published code gives 1 there, by construction: with equal counts credit is a multiple of the target.
    const equal = [
      [1, 0, 0, 1],
      [1, 1, 0, 1],
      [0, 0, 1, 0],
    ].map((means) => bucket({ returns: means.map((one) => [one]) }));
    for (const estimator of ['loo', 'full_mean'] as const) {
      close(measurePublishedFidelity(equal, estimator, false).all, 1);
    }
    assert.equal(measurePublishedFidelity([bucket({ returns: [[1], [1]] })], 'loo', false).all, 0);
  });

  it('leaves contexts without value samples out and counts them; a masked return is no return', () => {
    const some = [...IRREGULAR.slice(0, 6), ...IRREGULAR.slice(6).map((one) => ({ ...one, valueCount: 0 }))];
    const found = measureFidelity(some, 'loo');
    assert.deepEqual([found.withoutValue, found.pairs], [6, { real: 6, all: 24 }]);
    assert.equal(found.all?.value, measureFidelity(IRREGULAR.slice(0, 6), 'loo').all?.value);
    const masked = bucket({ returns: [[null], [1], [0], [0.5]], credited: 3, valueFrom: 3, valueCount: 1, real: 0 });
    assert.deepEqual(measureFidelity([masked], 'loo').pairs, { real: 0, all: 2 });
    assert.equal(measurePublishedFidelity([masked], 'loo', true).real, null);
  });

  it('says when nothing is left to rank', () => {
    const flat = bucket({ returns: [[1], [1], [1]], credited: 2, valueFrom: 2, valueCount: 1 });
    assert.match(measureFidelity([flat, flat], 'loo').degenerate ?? '', /nothing to rank/);
    assert.match(
      measureFidelity([bucket({ returns: [[1], [null], [0]], credited: 2, valueFrom: 2, valueCount: 1 })], 'loo')
        .degenerate ?? '',
      /Fewer than two/,
    );
  });

  it('cannot distinguish leave-one-out from the full mean where counts are equal', () => {
    const equal = IRREGULAR.map((one, b) => ({
      ...one,
      alternatives: one.alternatives.map((alternative, j) => ({
        ...alternative,
        returns: [(b * 7 + j * 3) % 5 < 2 ? 1 : 0],
      })),
    }));
    close(measureFidelity(equal, 'full_mean').all?.value, measureFidelity(equal, 'loo').all?.value ?? NaN);
  });
});

describe('credit against a learned value', () => {
  // A head that says 0.9 and 0.1 of contexts whose samples say 1/2 and 1/4: credits 0.1, -0.9, 0.4, -0.1 for targets
  // 1/2, -1/2, 1/4, -1/4.
  const judged = [
    bucket({ returns: [[1, 1], [0, 0], [1], [0]], credited: 2, valueFrom: 2, valueCount: 2, credits: [0.1, -0.9] }),
    bucket({
      returns: [
        [1, 0],
        [0, 0],
        [1, 0, 0, 0],
      ],
      credited: 2,
      valueFrom: 2,
      valueCount: 1,
      credits: [0.4, -0.1],
    }),
  ];

  it('is ranked as it was stored, over contexts and against independent samples', () => {
    // Ranks 3, 1, 4, 2 and 4, 1, 3, 2: 1 - 6 * 2 / (4 * 15).
    const found = measureFidelity(judged, 'mappo');
    close(found.all?.value, 0.8);
    close(found.real?.value, -1);
    assert.deepEqual([found.degenerate, found.pairs, found.withoutValue], [null, { real: 2, all: 4 }, 0]);
    close(measurePublishedFidelity(judged, 'mappo', true).all, 0.8);
    // Against the mean of the context the two would agree.
    close(measureFidelity(judged, 'full_mean').all?.value, 1);
  });

  it('has the variance of the mean returns, whatever the head says', () => {
    close(measureWithinContextVariance(judged, 'mappo').value?.value, (1 / 4 + 1 / 16) / 2);
    close(contextVariance(judged[0] ?? bucket({}), 'mappo', 'sample'), 1 / 2);
  });

  it('counts only where it was stored, and says so where none was', () => {
    const some = [
      ...judged,
      bucket({ returns: [[1], [0], [1], [0]], credited: 2, valueFrom: 2, valueCount: 2, credits: [0.7, null] }),
      bucket({ returns: [[1], [0], [0]], credited: 2, valueFrom: 2, valueCount: 1 }),
    ];
    assert.deepEqual(measureFidelity(some, 'mappo').pairs, { real: 3, all: 5 });
    assert.deepEqual(
      [measureWithinContextVariance(some, 'mappo').leftOut, measureWithinContextVariance(some, 'mappo').value?.n],
      [2, 2],
    );
    const none = measureFidelity(IRREGULAR, 'mappo');
    assert.deepEqual([none.real, none.all, measureWithinContextVariance(IRREGULAR, 'mappo').value], [null, null, null]);
    assert.match(none.degenerate ?? '', /has its credit stored/);
  });
});

describe('sums', () => {
  it('add in the order of numpy.sum', () => {
    // NumPy 2: np.sum([0.1] * 10), of 1/1 to 1/20, and of 1/1 to 1/300, where adding one by one gives other last
    // digits.
    assert.equal(pairwiseSum(Array.from({ length: 10 }, () => 0.1)), 1.0);
    assert.equal(pairwiseSum(Array.from({ length: 20 }, (_, i) => 1 / (i + 1))), 3.597739657143682);
    assert.equal(pairwiseSum(Array.from({ length: 300 }, (_, i) => 1 / (i + 1))), 6.282663880299504);
    assert.equal(pairwiseSum([]), 0);
  });

  it('keep and break ties as the published code does', () => {
    // 0.5 - (12 - 1) / 14 and 0 - 4 / 14 are equal on paper and not in doubles; SciPy ranks what NumPy computes.
    const returns = Array.from({ length: 40 }, (_, b) =>
      Array.from({ length: 12 }, (__, j) => [(b * 5 + j * j) % 7 < 3 ? 1 : 0, (b + j * 3) % 4 < 2 ? 1 : 0]),
    );
    const buckets = returns.map((one) => bucket({ returns: one, credited: 8, valueFrom: 8, valueCount: 4, real: 2 }));
    close(measureFidelity(buckets, 'loo').all?.value, 0.9708616551715024, 1e-12);
    close(measureFidelity(buckets, 'loo').real?.value, 0.9589054481146488, 1e-12);
  });
});

describe('within-context variance', () => {
  it('gives the published vectors of returns [1,0], [1], [0,0,0]', () => {
    const one = bucket({ returns: [[1, 0], [1], [0, 0, 0]] });
    // A = [1/4, 4/5, -2/3]: variance 63.4.../..., in fractions.
    const mean = (0.25 + 0.8 - 2 / 3) / 3;
    close(contextVariance(one, 'loo'), ((0.25 - mean) ** 2 + (0.8 - mean) ** 2 + (-2 / 3 - mean) ** 2) / 3);
    close(contextVariance(one, 'loo'), 0.365988, 5e-7);
    close(contextVariance(one, 'full_mean'), 1 / 6);
    close(contextVariance(one, 'full_mean', 'sample'), 1 / 4);
  });

  it('agrees with NumPy over contexts', () => {
    const found = measureWithinContextVariance(IRREGULAR, 'loo');
    close(found.value?.value, 0.20544054431513);
    close(found.standardDeviation, 0.060855583737711515);
    close(found.standardError, 0.01756749382632978);
    const published = measurePublishedVariance(IRREGULAR, 'full_mean');
    close(published?.mean, 0.14376452737603304);
    close(published?.std, 0.04347796888079843);
    close(published?.stderr, 0.012551008518573574);
  });

  it('counts a context without two alternatives as 0 in the published way only', () => {
    const two = [bucket({ returns: [[1], [0]] }), bucket({ returns: [[1], [null]] })];
    const found = measureWithinContextVariance(two, 'loo');
    assert.deepEqual(
      [found.value, found.leftOut, found.standardDeviation],
      [{ value: 1, low: null, high: null, n: 1 }, 1, null],
    );
    assert.equal(measurePublishedVariance(two, 'loo')?.mean, 0.5);
    assert.deepEqual(
      [measureWithinContextVariance([], 'loo').value, measurePublishedVariance([], 'loo')],
      [null, null],
    );
    // n/(n-1) squared times that of the full mean, for equal counts.
    const four = bucket({ returns: [[1], [0], [0.25], [0.75]] });
    close(contextVariance(four, 'loo'), (4 / 3) ** 2 * (contextVariance(four, 'full_mean') ?? NaN));
  });
});

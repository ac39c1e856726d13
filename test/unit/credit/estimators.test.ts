import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { aggregate, type Aggregate, type Estimate } from '../../../src/credit/aggregate.ts';
import { mean, populationVariance, sampleVariance } from '../../../src/credit/describe.ts';
import { requireEstimator, type CreditEstimator } from '../../../src/credit/estimators.ts';
import { groupNormalize } from '../../../src/credit/groupNormalise.ts';
import { C3Error } from '../../../src/shared/errors.ts';

const close = (
  actual: readonly (number | null | undefined)[],
  expected: readonly number[],
  tolerance = 1e-12,
): void => {
  assert.equal(actual.length, expected.length);
  for (const [index, value] of expected.entries()) {
    const got = actual[index];
    assert.ok(typeof got === 'number' && Math.abs(got - value) <= tolerance, `[${index}]: ${got} is not ${value}`);
  }
};
const estimate = (aggregates: readonly Aggregate[], name: CreditEstimator): (Estimate | null)[] =>
  requireEstimator(name).estimate(aggregates, { alternatives: [] });
const credits = (
  returns: readonly (readonly (number | null)[])[],
  estimator: CreditEstimator,
): (number | undefined)[] => estimate(returns.map(aggregate), estimator).map((one) => one?.credit);
const baselines = (
  returns: readonly (readonly (number | null)[])[],
  estimator: CreditEstimator,
): (number | undefined)[] => estimate(returns.map(aggregate), estimator).map((one) => one?.baseline);

/** Buckets with irregular counts and values, without chance. */
const BUCKETS: number[][][] = Array.from({ length: 40 }, (_, bucket) =>
  Array.from({ length: 2 + (bucket % 5) }, (__, j) =>
    Array.from(
      { length: 1 + ((bucket * 3 + j * 5) % 4) },
      (___, m) => ((bucket * 17 + j * 31 + m * 7) % 23) / 11 - 0.5,
    ),
  ),
);
const EQUAL_BUCKETS = BUCKETS.map((bucket) => bucket.map((returns, j) => [...returns, 0.5, -0.25, j].slice(0, 3)));

describe('aggregate', () => {
  it('averages what is there and counts what is masked', () => {
    assert.deepEqual(aggregate([1, null, 0, 0.5]), { mean: 0.5, count: 3, masked: 1 });
    assert.deepEqual(aggregate([null, null]), { mean: null, count: 0, masked: 2 });
    assert.deepEqual(aggregate([]), { mean: null, count: 0, masked: 0 });
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.throws(() => aggregate([0, value]), C3Error);
    }
  });
});

describe('vectors', () => {
  it('weights by counts: [1,0], [1], [0,0,0]', () => {
    const returns = [[1, 0], [1], [0, 0, 0]];
    close(baselines(returns, 'loo'), [0.25, 0.2, 2 / 3]);
    close(credits(returns, 'loo'), [0.25, 0.8, -2 / 3]);
    close(credits(returns, 'full_mean'), [1 / 6, 2 / 3, -1 / 3]);
    close([populationVariance([0.25, 0.8, -2 / 3])], [0.365988], 5e-7);
    close([populationVariance([1 / 6, 2 / 3, -1 / 3])], [1 / 6]);
  });

  it('gives the credits of figure 1', () => close(credits([[0.63], [0.8], [0.73]], 'loo'), [-0.135, 0.12, 0.015]));

  it('gives the credits of the rollout tree 1,0,1,1 | 0,0,1,0', () => {
    const tree = [
      [1, 0, 1, 1],
      [0, 0, 1, 0],
    ];
    const [left = [], right = []] = tree.map((leaves) => leaves.map((leaf) => [leaf]));
    close(credits(tree, 'loo'), [0.5, -0.5]);
    close(credits(left, 'loo'), [1 / 3, -1, 1 / 3, 1 / 3]);
    close(credits(right, 'loo'), [-1 / 3, -1 / 3, 1, -1 / 3]);
    close(credits(tree, 'full_mean'), [0.25, -0.25]);
    close(credits(left, 'full_mean'), [0.25, -0.75, 0.25, 0.25]);
  });

  it('normalises both estimators to the same numbers', () => {
    const left = [[1], [0], [1], [1]];
    for (const estimator of ['loo', 'full_mean'] as const) {
      close(
        groupNormalize(credits(left, estimator).map((one) => one ?? Number.NaN)),
        [0.57735, -1.73205, 0.57735, 0.57735],
        5e-6,
      );
      close(
        groupNormalize(
          credits(
            [
              [1, 0, 1, 1],
              [0, 0, 1, 0],
            ],
            estimator,
          ).map((one) => one ?? Number.NaN),
        ),
        [1, -1],
        1e-6,
      );
    }
    // The 1e-8 is under the root: a gap of 2e-4 gives 1/sqrt(2), not 1.
    close(groupNormalize([1e-4, -1e-4]), [Math.SQRT1_2, -Math.SQRT1_2]);
    close(groupNormalize([0.1, 0.1, 0.1]), [0, 0, 0], 1e-11);
    assert.deepEqual(groupNormalize([]), []);
  });
});

describe('edges', () => {
  it('gives a lone alternative itself as baseline', () => {
    for (const estimator of ['loo', 'full_mean'] as const) {
      assert.deepEqual(estimate([aggregate([0.3, 0.4])], estimator), [{ baseline: 0.35, credit: 0 }]);
    }
    assert.deepEqual(estimate([], 'loo'), []);
  });

  it('leaves masked returns and empty alternatives out', () => {
    for (const estimator of ['loo', 'full_mean'] as const) {
      const masked = estimate([[1, null, 0], [null], [1], []].map(aggregate), estimator);
      const [first, third] = estimate([[1, 0], [1]].map(aggregate), estimator);
      assert.deepEqual(masked, [first, null, third, null]);
      assert.deepEqual(estimate([[1], [null]].map(aggregate), estimator), [{ baseline: 1, credit: 0 }, null]);
      assert.deepEqual(estimate([[null], []].map(aggregate), estimator), [null, null]);
    }
  });
});

describe('properties', () => {
  it('sums to zero for equal counts; weighted by its count the full-mean credit always does', () => {
    const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
    for (const bucket of EQUAL_BUCKETS) {
      close([sum(credits(bucket, 'loo').map(Number))], [0]);
    }
    for (const bucket of BUCKETS) {
      close([sum(credits(bucket, 'full_mean').map((credit, j) => Number(credit) * (bucket[j]?.length ?? 0)))], [0]);
    }
  });

  it('is n / (n - 1) times the full mean for equal counts and C / (C - c) times in general', () => {
    for (const bucket of EQUAL_BUCKETS) {
      const n = bucket.length;
      close(
        credits(bucket, 'loo'),
        credits(bucket, 'full_mean').map((credit) => (n / (n - 1)) * Number(credit)),
      );
    }
    for (const bucket of BUCKETS) {
      const total = bucket.flat().length;
      close(
        credits(bucket, 'loo'),
        credits(bucket, 'full_mean').map((credit, j) => (total / (total - (bucket[j]?.length ?? 0))) * Number(credit)),
      );
    }
  });

  it('follows a permutation of the alternatives and ignores a shift of all returns', () => {
    for (const bucket of BUCKETS) {
      for (const estimator of ['loo', 'full_mean'] as const) {
        const straight = credits(bucket, estimator).map(Number);
        close(credits([...bucket].reverse(), estimator), straight.toReversed());
        close(
          credits(
            bucket.map((returns) => returns.map((value) => value + 5)),
            estimator,
          ),
          straight,
        );
      }
    }
  });

  it('does not depend on an alternative in its own baseline', () => {
    for (const bucket of BUCKETS) {
      const changed = bucket.map((returns, j) => (j === 0 ? returns.map(() => 100) : returns));
      assert.equal(baselines(changed, 'loo')[0], baselines(bucket, 'loo')[0]);
    }
  });
});

describe('gradient of an enumerable team', () => {
  // A reasoner with three messages; below it an actor that succeeds with chance q of the message; c_j replays of
  // alternative j.
  const logits = [0.4, -0.3, 0.9];
  const success = [0.2, 0.7, 0.55];
  const total = logits.reduce((sum, logit) => sum + Math.exp(logit), 0);
  const policy = logits.map((logit) => Math.exp(logit) / total);
  const value = policy.reduce((sum, p, action) => sum + p * (success[action] ?? 0), 0);
  /** Closed form: d/d logit_k of sum_a pi(a) q(a) = pi(k) (q(k) - V). */
  const gradient = policy.map((p, action) => p * ((success[action] ?? 0) - value));

  /** E[(1/N) sum_j A_j d log pi(a_j)] over every choice of messages and outcomes. */
  function expectedGradient(counts: readonly number[], estimator: CreditEstimator): number[] {
    const result = logits.map(() => 0);
    const visit = (probability: number, actions: readonly number[], returns: readonly Aggregate[]): void => {
      const count = counts[actions.length];
      if (count === undefined) {
        for (const [j, found] of estimate(returns, estimator).entries()) {
          for (const k of logits.keys()) {
            const score = (actions[j] === k ? 1 : 0) - (policy[k] ?? 0);
            result[k] = (result[k] ?? 0) + (probability * (found?.credit ?? Number.NaN) * score) / counts.length;
          }
        }
        return;
      }
      for (const [action, p] of policy.entries()) {
        const q = success[action] ?? 0;
        for (let outcome = 0; outcome < 2 ** count; outcome++) {
          const replays = Array.from({ length: count }, (_, m) => (outcome >> m) & 1);
          const chance = replays.reduce((product, one) => product * (one === 1 ? q : 1 - q), 1);
          visit(probability * p * chance, [...actions, action], [...returns, aggregate(replays)]);
        }
      }
    };
    visit(1, [], []);
    return result;
  }

  it('is met exactly by leave-one-out, for equal and unequal counts', () => {
    for (const counts of [
      [1, 1],
      [2, 2],
      [1, 3],
      [1, 1, 1],
      [3, 1, 2],
    ]) {
      close(expectedGradient(counts, 'loo'), gradient);
    }
  });

  it('is shrunk by (N - 1) / N by the full mean', () => {
    close(
      expectedGradient([2, 2], 'full_mean'),
      gradient.map((part) => part / 2),
    );
    close(
      expectedGradient([1, 1, 1], 'full_mean'),
      gradient.map((part) => (part * 2) / 3),
    );
  });
});

describe('describe', () => {
  it('computes means and variances, exactly 0 for equal values', () => {
    assert.equal(mean([1, 2, 6]), 3);
    assert.equal(populationVariance([1, 2, 6]), 14 / 3);
    assert.equal(sampleVariance([1, 2, 6]), 7);
    assert.equal(sampleVariance([1]), null);
    assert.equal(populationVariance([0.1, 0.1, 0.1]), 0);
    assert.throws(() => mean([]), C3Error);
    assert.throws(() => populationVariance([]), C3Error);
  });
});

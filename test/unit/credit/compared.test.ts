import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { creditIfComparable } from '../../../src/credit/compared.ts';

const bucket = (...returns: (number | null)[][]): { returns: (number | null)[]; evaluatorCalls: number }[] =>
  returns.map((one) => ({ returns: one, evaluatorCalls: one.length }));

describe('comparedCredits', () => {
  it('is the estimator where alternatives can be compared', () => {
    const alternatives = bucket([1, 0], [1, 1], [null]);
    assert.deepEqual(
      creditIfComparable(alternatives, 'loo').map((credit) => credit?.value ?? null),
      [-0.5, 0.5, null],
    );
    assert.deepEqual(
      creditIfComparable(alternatives, 'full_mean').map((credit) => credit?.value ?? null),
      [-0.25, 0.25, null],
    );
  });

  it('measures nothing where fewer than two alternatives have a return', () => {
    for (const estimator of ['loo', 'full_mean'] as const) {
      assert.deepEqual(creditIfComparable(bucket([1, 0]), estimator), [null]);
      assert.deepEqual(creditIfComparable(bucket([1], [null], []), estimator), [null, null, null]);
      assert.deepEqual(creditIfComparable([], estimator), []);
    }
  });
});

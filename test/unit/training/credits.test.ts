import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { creditRule } from '../../../src/training/credits.ts';

const bucket = (...returns: (number | null)[][]): { returns: (number | null)[]; evaluatorCalls: number }[] => returns.map((one) => ({ returns: one, evaluatorCalls: one.length }));

describe('creditRule', () => {
  it('is the estimator where alternatives can be compared', () => {
    const alternatives = bucket([1, 0], [1, 1], [null]);
    assert.deepEqual(creditRule('loo')(alternatives).map((credit) => credit?.value ?? null), [-0.5, 0.5, null]);
    assert.deepEqual(creditRule('full_mean')(alternatives).map((credit) => credit?.value ?? null), [-0.25, 0.25, null]);
  });

  it('measures nothing where fewer than two alternatives have a return', () => {
    for (const estimator of ['loo', 'full_mean'] as const) {
      assert.deepEqual(creditRule(estimator)(bucket([1, 0])), [null]);
      assert.deepEqual(creditRule(estimator)(bucket([1], [null], [])), [null, null, null]);
      assert.deepEqual(creditRule(estimator)([]), []);
    }
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { creditGroup, type CreditInput } from '../../../src/credit/estimators.ts';
import { C3Error } from '../../../src/shared/errors.ts';

const bucket = (...returns: (number | null)[][]): CreditInput[] =>
  returns.map((one) => ({ returns: one, evaluatorCalls: one.length }));

function near(actual: number | null | undefined, expected: number | null | undefined, within = 1e-12): void {
  assert.ok(
    typeof actual === 'number' && typeof expected === 'number' && Math.abs(actual - expected) < within,
    `${actual} is not ${expected}`,
  );
}

describe('creditBucket', () => {
  it('gives value, interval, n and calls of the whole bucket', () => {
    const [first, second, third] = creditGroup({ alternatives: bucket([1, 0], [1], [0, 0, 0]) }, 'loo');
    near(first?.value, 0.25);
    near(second?.value, 0.8);
    near(third?.value, -2 / 3);
    // Wilson's bounds of the own returns and the exact ones of two siblings (values of scipy 1.17).
    near(first?.low, -0.5495998072, 1e-9);
    near(second?.high, 0.9999683424, 1e-9);
    near(third?.low, -0.9984407164, 1e-9);
    for (const credit of [first, second, third]) {
      assert.deepEqual(
        [credit?.estimator, credit?.n, credit?.evaluatorCalls, credit?.interval],
        ['loo', 6, 6, 'newcombe'],
      );
    }
  });

  it('scales the full-mean interval with the credit', () => {
    const loo = creditGroup({ alternatives: bucket([1, 0], [1], [0, 0, 0]) }, 'loo');
    const full = creditGroup({ alternatives: bucket([1, 0], [1], [0, 0, 0]) }, 'full_mean');
    for (const [index, share] of [4 / 6, 5 / 6, 3 / 6].entries()) {
      near(full[index]?.value, (loo[index]?.value ?? 0) * share);
      near(full[index]?.low, (loo[index]?.low ?? 0) * share);
      near(full[index]?.high, (loo[index]?.high ?? 0) * share);
      assert.equal(full[index]?.estimator, 'full_mean');
    }
  });

  it('keeps the credit inside its interval', () => {
    for (let code = 0; code < 3 ** 6; code++) {
      const digits = Array.from({ length: 6 }, (_, place) => Math.floor(code / 3 ** place) % 3).map((digit) =>
        digit === 2 ? null : digit,
      );
      for (const estimator of ['loo', 'full_mean'] as const) {
        for (const credit of creditGroup(
          { alternatives: bucket(digits.slice(0, 2), digits.slice(2, 3), digits.slice(3)) },
          estimator,
        )) {
          if (credit === null || credit.low === null || credit.high === null) {
            continue;
          }
          assert.ok(credit.low <= credit.value + 1e-12 && credit.value <= credit.high + 1e-12, JSON.stringify(credit));
        }
      }
    }
  });

  it('has a wide but defined interval for the single return of a terminal role', () => {
    const credits = creditGroup({ alternatives: bucket([1], [0], [0], [1]) }, 'loo');
    near(credits[0]?.value, 2 / 3);
    assert.ok((credits[0]?.low ?? 1) < 0 && (credits[0]?.high ?? 0) > 0.8);
    // A single graded return says no more than one of 0 or 1 would.
    const [graded] = creditGroup({ alternatives: bucket([0.5], [0.25], [1]) }, 'loo');
    near(graded?.value, -0.125);
    near(graded?.low, -0.7052548325, 1e-9);
  });

  it('leaves masked returns out of value and n but not out of the cost', () => {
    const masked = creditGroup(
      {
        alternatives: [
          { returns: [1, null, 0], evaluatorCalls: 3 },
          { returns: [null], evaluatorCalls: 2 },
          { returns: [1], evaluatorCalls: 1 },
        ],
      },
      'loo',
    );
    const [first, last] = creditGroup(
      {
        alternatives: [
          { returns: [1, 0], evaluatorCalls: 6 },
          { returns: [1], evaluatorCalls: 0 },
        ],
      },
      'loo',
    );
    assert.deepEqual(masked, [first, null, last]);
  });

  it('gives a lone alternative credit 0 without an interval', () => {
    for (const estimator of ['loo', 'full_mean'] as const) {
      assert.deepEqual(creditGroup({ alternatives: bucket([1, 0, null]) }, estimator), [
        { estimator, value: 0, low: null, high: null, n: 2, evaluatorCalls: 3, interval: 'none' },
      ]);
    }
    assert.deepEqual(creditGroup({ alternatives: [] }, 'loo'), []);
  });

  it('refuses numbers that are none', () => {
    assert.throws(() => creditGroup({ alternatives: bucket([Number.NaN], [1]) }, 'loo'), C3Error);
    assert.throws(() => creditGroup({ alternatives: [{ returns: [1], evaluatorCalls: -1 }] }, 'loo'), C3Error);
    assert.throws(() => creditGroup({ alternatives: [{ returns: [1], evaluatorCalls: 0.5 }] }, 'loo'), C3Error);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { C3Error } from '../../../src/shared/errors.ts';
import { creditGroup, type CreditInput } from '../../../src/credit/estimators.ts';
import { newcombe, welch } from '../../../src/credit/interval.ts';

const bucket = (...returns: (number | null)[][]): CreditInput[] =>
  returns.map((one) => ({ returns: one, evaluatorCalls: one.length }));

function near(actual: number | null | undefined, expected: number | null | undefined): void {
  assert.ok(
    typeof actual === 'number' && typeof expected === 'number' && Math.abs(actual - expected) < 1e-12,
    `${actual} is not ${expected}`,
  );
}

describe('creditBucket', () => {
  it('gives value, Newcombe interval, n and calls of the whole bucket', () => {
    const [first, second, third] = creditGroup({ alternatives: bucket([1, 0], [1], [0, 0, 0]) }, 'loo');
    near(first?.value, 0.25);
    near(second?.value, 0.8);
    near(third?.value, -2 / 3);
    // 1 of 2 against 1 of the other 4, and so on.
    near(first?.low, newcombe(1, 2, 1, 4)?.low);
    near(second?.high, newcombe(1, 1, 1, 5)?.high);
    near(third?.low, newcombe(0, 3, 2, 3)?.low);
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
    // Single returns that are not 0 or 1 leave nothing to estimate a spread from.
    const [graded] = creditGroup({ alternatives: bucket([0.5], [0.25], [1]) }, 'loo');
    assert.deepEqual([graded?.low, graded?.high, graded?.interval], [null, null, 'none']);
    near(graded?.value, -0.125);
  });

  it('takes Welch for graded returns', () => {
    const [first] = creditGroup({ alternatives: bucket([0.5, 0.75], [0.1, 0.2], [0.6]) }, 'loo');
    near(first?.value, 0.325);
    near(first?.low, welch([0.5, 0.75], [0.1, 0.2, 0.6])?.low);
    assert.equal(first?.interval, 'welch');
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

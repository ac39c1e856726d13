import assert from 'node:assert/strict';
import { it } from 'node:test';
import { compareReturns } from '../../../src/credit/sameReturns.ts';

it('of equal samples nothing is found, and of none nothing is said', () => {
  const same = compareReturns([{ stored: [0, 1], again: [1, 0] }]);
  assert.deepEqual([same?.difference.value, same?.p, same?.n], [0, 1, { stored: 2, again: 2 }]);
  assert.equal(compareReturns([{ stored: [1], again: [] }]), null);
});

it('p is the share of permutations that are as far', () => {
  // 6 ways to choose two of four: two of them are as far as [0, 0] against [1, 1].
  const p = compareReturns([{ stored: [0, 0], again: [1, 1] }])?.p ?? 0;
  assert.ok(Math.abs(p - 1 / 3) < 0.03, String(p));
  // Eight against eight: 2 of 12,870.
  const eight = (value: number): number[] => Array.from({ length: 8 }, () => value);
  assert.ok((compareReturns([{ stored: eight(1), again: eight(0) }])?.p ?? 1) < 0.002);
});

it('permutes within contexts only: contexts that differ are no difference of the samples', () => {
  const strata = [0, 1].map((value) => ({ stored: [value, value, value], again: [value, value, value] }));
  assert.equal(compareReturns(strata)?.p, 1);
});

it('weighs contexts by their returns, and gives an interval where there is spread', () => {
  // Weights 1/2 and 1; differences 1 and 0.
  const weighed = compareReturns([
    { stored: [0], again: [1] },
    { stored: [0, 1], again: [0, 1] },
  ]);
  assert.ok(Math.abs((weighed?.difference.value ?? 0) - 1 / 3) < 1e-12);
  assert.equal(weighed?.difference.low, null);
  const { difference } = compareReturns([{ stored: [0, 0, 1, 1], again: [1, 1, 1, 0] }]) ?? assert.fail();
  const half = 1.959964 * Math.sqrt((1 / 3 + 1 / 4) / 4);
  assert.ok(Math.abs((difference.high ?? 0) - (0.25 + half)) < 1e-6);
  assert.ok(Math.abs((difference.low ?? 0) - (0.25 - half)) < 1e-6);
});

it('gives no interval if no sample varies, since a width of 0 would claim certainty', () => {
  const { difference } = compareReturns([{ stored: [0, 0, 0], again: [1, 1, 1] }]) ?? assert.fail();
  assert.deepEqual(difference, { value: 1, low: null, high: null });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { passAtK } from '../../../src/diagnostics/statistics/passAtK.ts';
import { C3Error } from '../../../src/shared/errors.ts';

/** Share of the k-subsets of n samples, the first c successful, that hold a success. */
function byEnumeration(n: number, c: number, k: number): number {
  let subsets = 0;
  let solved = 0;
  for (let chosen = 0; chosen < 2 ** n; chosen++) {
    const members = Array.from({ length: n }, (_, index) => index).filter((index) => ((chosen >> index) & 1) === 1);
    if (members.length !== k) {
      continue;
    }
    subsets++;
    if (members.some((index) => index < c)) {
      solved++;
    }
  }
  return solved / subsets;
}

describe('passAtK', () => {
  it('is the share of k-subsets with a success', () => {
    for (let n = 1; n <= 9; n++) {
      for (let c = 0; c <= n; c++) {
        for (let k = 1; k <= n; k++) {
          const estimate = passAtK(n, c, k);
          assert.ok(estimate !== null && Math.abs(estimate - byEnumeration(n, c, k)) < 1e-14, `n=${n} c=${c} k=${k}`);
        }
      }
    }
  });

  it('is unbiased: its mean over binomial outcomes is 1 - (1 - p)^k', () => {
    const [n, p] = [8, 0.3];
    for (const k of [1, 3, 8]) {
      let expected = 0;
      for (let outcome = 0; outcome < 2 ** n; outcome++) {
        const c = outcome.toString(2).replaceAll('0', '').length;
        expected += p ** c * (1 - p) ** (n - c) * (passAtK(n, c, k) ?? Number.NaN);
      }
      assert.ok(Math.abs(expected - (1 - (1 - p) ** k)) < 1e-12);
    }
  });

  it('does not overflow where the binomials would', () => {
    // C(5000, 2000) is beyond the number range. With c = 1 the answer is k / n, and it is symmetric in c and k.
    assert.ok(Math.abs((passAtK(5000, 1, 2000) ?? 0) - 0.4) < 1e-12);
    assert.ok(Math.abs((passAtK(5000, 2000, 1) ?? 0) - 0.4) < 1e-12);
    assert.equal(passAtK(5000, 2500, 2500), 1);
    assert.deepEqual([passAtK(10, 0, 5), passAtK(10, 10, 1)], [0, 1]);
  });

  it('does not estimate more draws than samples, and refuses what is no count', () => {
    assert.equal(passAtK(3, 3, 4), null);
    for (const [n, c, k] of [
      [3, 4, 1],
      [3, -1, 1],
      [3, 1, 0],
      [3.5, 1, 1],
      [3, 1, Number.NaN],
    ] as const) {
      assert.throws(() => passAtK(n, c, k), C3Error);
    }
  });
});

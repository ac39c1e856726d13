/** The chance that at least one of k samples succeeds (C3 appendix G; Chen et al. 2021, eq. 1). */

import { C3Error } from '../../shared/errors.ts';

/**
 * Returns the unbiased estimate 1 - C(n-c, k) / C(n, k) from n samples of which c succeeded. It is
 * computed as a product, because the binomials would overflow.
 * @returns in [0, 1]; null if k > n, which n samples cannot estimate
 * @throws C3Error('input') unless n, c and k are whole numbers with 0 <= c <= n and k >= 1
 */
export function passAtK(n: number, c: number, k: number): number | null {
  if (![n, c, k].every(Number.isSafeInteger) || c < 0 || c > n || k < 1) {
    throw new C3Error(
      'input',
      `pass@${k} of ${c} successes in ${n} samples is not defined; give whole numbers with 0 <= c <= n and k >= 1.`,
    );
  }
  if (k > n) {
    return null;
  }
  // Too few failures for k draws without a success.
  if (n - c < k) {
    return 1;
  }
  // C(n-c, k) / C(n, k) = product over the smaller of c and k; every factor is in (0, 1].
  const [outer, inner] = c < k ? [c, k] : [k, c];
  let allFail = 1;
  for (let i = 0; i < outer; i++) {
    allFail *= 1 - inner / (n - i);
  }
  return 1 - allFail;
}

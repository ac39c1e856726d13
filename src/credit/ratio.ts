/** The ratio of two means. */

import type { Interval } from '../domain/credit.ts';
import { hasSpread, mean, sampleVariance } from './describe.ts';
import { LEVEL } from './interval.ts';
import { studentTQuantile } from './studentT.ts';

/**
 * Returns mean(over) / mean(under) of paired samples, with Fieller's 95 % interval (Fieller, Journal
 * of the Royal Statistical Society B 16, 1954): the ratios r with (over - r under)^2 <= t^2 Var(over -
 * r under), between two roots.
 * @param over as many values as in `under`, at least one
 * @returns null bounds if there are too few values to bound the ratio, or none differ
 */
export function ratioOfMeans(over: readonly number[], under: readonly number[]): Interval {
  const n = over.length;
  const [above, below] = [mean(over), mean(under)];
  const unknown = { value: above / below, low: null, high: null, n };
  const [varAbove, varBelow] = [sampleVariance(over), sampleVariance(under)];
  if (varAbove === null || varBelow === null || !(hasSpread(over) || hasSpread(under))) {
    return unknown;
  }
  const covariance = over.reduce((sum, one, index) => sum + (one - above) * ((under[index] ?? 0) - below), 0) / (n - 1);
  const square = studentTQuantile((1 + LEVEL) / 2, n - 1) ** 2 / n;
  const a = below ** 2 - square * varBelow;
  const b = above * below - square * covariance;
  const c = above ** 2 - square * varAbove;
  const root = b ** 2 - a * c;
  if (a <= 0 || root < 0) {
    return unknown;
  }
  const reach = Math.sqrt(root);
  return { ...unknown, low: (b - reach) / a, high: (b + reach) / a };
}

/**
 * The interval of an alternative's mean return minus that of the policy's messages in its context,
 * from one bucket.
 *
 * The siblings are draws of the policy. Their mean estimates that of all its messages, with the
 * variance of their means divided by their number, s^2(R) / (J - 1), which includes the noise of their
 * replays. If returns are 0 or 1, few siblings do not show the variance of their means (one rare
 * message may be worth all), so the largest possible variance is used: that of equally many returns of
 * 0 and 1. If returns are graded, s^2 counts, expressed as the number of 0 and 1 returns with the same
 * uncertainty: the effective size (Korn and Graubard, "Confidence intervals for proportions with small
 * expected number of positive counts estimated from survey data", Survey Methodology 24, 1998). The
 * siblings' interval is the exact one of a proportion (Clopper and Pearson, Biometrika 26, 1934), the
 * alternative's own is Wilson's, and the two are combined by Newcombe's method (Statistics in Medicine
 * 17, 1998, method 10). Pure.
 */

import type { ReturnRange } from '../shared/credit/creditPool.ts';
import { LEVEL, scoreInterval, Z, type DifferenceInterval } from './interval.ts';
import { toMoments, type Moments, type Sample } from './leftOut.ts';
import { betaQuantile, studentTQuantile } from './studentT.ts';

interface Bounds {
  readonly low: number;
  readonly high: number;
}

/** The two sides of a comparison in one bucket. */
export interface Sides {
  /** Returns of the alternative. */
  readonly own: Sample;
  /** All returns of its siblings: their mean is the baseline. */
  readonly others: Sample;
  /** The mean return of each sibling. */
  readonly siblings: Sample;
  /** The smallest range that holds 0, 1 and every return of the bucket. */
  readonly range: ReturnRange;
}

/**
 * Returns the interval of own - weight * others. A weight below 1 recovers the variance of each side
 * by Zou and Donner's method (Statistics in Medicine 27, 2008); Newcombe's is the case of weight 1.
 * @param weight in [0, 1]; 0 leaves the siblings out
 * @returns null if the own side is empty, or if the siblings are and have a weight; n counts the
 *   returns of both
 */
export function compareWithSiblings({ own, others, siblings, range }: Sides, weight = 1): DifferenceInterval | null {
  const [first, second, means] = [toMoments(own), toMoments(others), toMoments(siblings)];
  if (first.n === 0 || (second.n === 0 && weight > 0)) {
    return null;
  }
  const span = range.high - range.low;
  const share = (mean: number): number => Math.min(1, Math.max(0, (mean - range.low) / span));
  const [value, baseline] = [share(first.mean), share(second.mean)];
  const a = scoreInterval(value, first.successes === null ? effectiveSize(first, value, span) : first.n);
  const size = second.successes === null ? effectiveSize(means, baseline, span) : means.n;
  const b = weight === 0 ? { low: baseline, high: baseline } : exactInterval(baseline, size);
  const [below, above] = [weight * (baseline - b.low), weight * (b.high - baseline)];
  const credit = first.mean - weight * second.mean;
  return {
    value: credit,
    low: credit - span * Math.hypot(value - a.low, above),
    high: credit + span * Math.hypot(a.high - value, below),
    n: first.n + second.n,
    method: 'newcombe',
  };
}

/**
 * Returns the number of 0 and 1 returns with the same uncertainty as the mean of independent values
 * within a range.
 *
 * It is at least the number of values, because no values are less certain than 0 and 1 (Bhatia and
 * Davis, American Mathematical Monthly 107, 2000). It is larger if they vary less, reduced as
 * Student's t widens with few values. If all are equal, their variance is unknown.
 * @param share the mean within the range, from 0 to 1
 * @param span the width of the range
 */
function effectiveSize({ n, squares, spread }: Moments, share: number, span: number): number {
  const variance = squares / (n - 1) / n / span ** 2;
  if (!spread || !(variance > 0)) {
    return n;
  }
  const few = (Z / cachedQuantile(n - 1)) ** 2;
  return Math.max(n, (few * share * (1 - share)) / variance);
}

/**
 * Above this size the score interval replaces the exact one; they agree in all digits to which the
 * fraction converges.
 */
const LARGE = 1e6;

/**
 * Returns the exact interval of a proportion, at the level.
 * @param share from 0 to 1
 * @param size number of trials, above 0, may be fractional
 */
function exactInterval(share: number, size: number): Bounds {
  if (size > LARGE) {
    return scoreInterval(share, size);
  }
  const x = share * size;
  const tail = (1 - LEVEL) / 2;
  return {
    low: share === 0 ? 0 : Math.min(share, betaQuantile(tail, x, size - x + 1)),
    high: share === 1 ? 1 : Math.max(share, betaQuantile(1 - tail, x + 1, size - x)),
  };
}

const quantiles = new Map<number, number>();

/** Returns the two-sided quantile of Student's t at the level. */
function cachedQuantile(degrees: number): number {
  const known = quantiles.get(degrees);
  if (known !== undefined) {
    return known;
  }
  const found = studentTQuantile((1 + LEVEL) / 2, degrees);
  quantiles.set(degrees, found);
  return found;
}

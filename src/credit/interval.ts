/** Intervals at the 95 % level for proportions, means and their differences. */

import type { Interval } from '../domain/credit.ts';
import { C3Error } from '../shared/errors.ts';
import { openStream, uniform } from './counter.ts';
import { hasSpread, mean } from './describe.ts';
import { toMoments, type Sample } from './leftOut.ts';
import { studentTQuantile } from './studentT.ts';

export const LEVEL = 0.95;
/** The standard normal quantile of (1 + LEVEL) / 2. */
export const Z = 1.959963984540054;

export type IntervalMethod = 'newcombe' | 'welch' | 'wilson' | 'student' | 'none';

export interface DifferenceInterval extends Interval {
  /** The method of the bounds; `none` if both are null. */
  readonly method: IntervalMethod;
}

/**
 * Returns Wilson's score interval of a proportion, without continuity correction.
 * @returns null if n is 0
 * @throws C3Error('input') unless successes and n are whole numbers with 0 <= successes <= n
 */
export function wilsonInterval(successes: number, n: number): Interval | null {
  if (!Number.isSafeInteger(successes) || !Number.isSafeInteger(n) || successes < 0 || successes > n) {
    throw new C3Error(
      'input',
      `${successes} successes of ${n} is not a proportion; give whole numbers with 0 <= successes <= n.`,
    );
  }
  if (n === 0) {
    return null;
  }
  const value = successes / n;
  return { value, ...scoreInterval(value, n), n };
}

/**
 * Returns the score interval of a share. @param value from 0 to 1 @param n number of trials, above 0,
 * may be fractional
 */
export function scoreInterval(value: number, n: number): { readonly low: number; readonly high: number } {
  const shrink = 1 + Z ** 2 / n;
  const centre = (value + Z ** 2 / (2 * n)) / shrink;
  const reach = (Z / shrink) * Math.sqrt((value * (1 - value)) / n + Z ** 2 / (4 * n ** 2));
  // At the ends the bound is exact; the formula would have a rounding error.
  return { low: value === 0 ? 0 : centre - reach, high: value === 1 ? 1 : centre + reach };
}

/**
 * Returns Newcombe's hybrid score interval of a difference of two independent proportions, first -
 * second (Statistics in Medicine 17, 1998, method 10). It is made for small counts and defined for
 * any.
 * @returns null if either side is empty; n counts both sides
 * @throws C3Error('input') as wilsonInterval
 */
export function newcombeInterval(
  successes: number,
  n: number,
  otherSuccesses: number,
  otherN: number,
): Interval | null {
  const first = wilsonInterval(successes, n);
  const second = wilsonInterval(otherSuccesses, otherN);
  if (first === null || second === null) {
    return null;
  }
  const value = first.value - second.value;
  const below = Math.hypot(first.value - (first.low ?? 0), (second.high ?? 1) - second.value);
  const above = Math.hypot((first.high ?? 1) - first.value, second.value - (second.low ?? 0));
  return { value, low: value - below, high: value + above, n: n + otherN };
}

/**
 * Returns Welch's t interval of a difference of two means, first - second, with unequal variances and
 * Satterthwaite's degrees of freedom.
 * @returns null if either side is empty; null bounds unless both sides have at least two values that
 *   differ
 */
export function welchInterval(one: Sample, other: Sample): Interval | null {
  const [first, second] = [toMoments(one), toMoments(other)];
  if (first.n === 0 || second.n === 0) {
    return null;
  }
  const value = first.mean - second.mean;
  const n = first.n + second.n;
  const unknown = { value, low: null, high: null, n };
  if (!first.spread || !second.spread) {
    return unknown;
  }
  const [a, b] = [first.squares / (first.n - 1) / first.n, second.squares / (second.n - 1) / second.n];
  // Squares of tiny deviations underflow.
  if (a + b === 0) {
    return unknown;
  }
  // Shares, because squares of variances could leave the number range.
  const share = a / (a + b);
  const degrees = 1 / (share ** 2 / (first.n - 1) + (1 - share) ** 2 / (second.n - 1));
  const reach = studentTQuantile((1 + LEVEL) / 2, degrees) * Math.sqrt(a + b);
  return { value, low: value - reach, high: value + reach, n };
}

/**
 * Returns the interval of a mean: Wilson's if all values are 0 or 1, otherwise Student's t.
 * @returns null without values; null bounds for values that are not binary and fewer than two or all
 *   equal
 */
export function meanInterval(values: Sample): DifferenceInterval | null {
  const sample = toMoments(values);
  if (sample.successes !== null) {
    const interval = wilsonInterval(sample.successes, sample.n);
    return interval === null ? null : { ...interval, method: 'wilson' };
  }
  const interval = studentInterval(sample);
  return interval === null ? null : { ...interval, method: interval.low === null ? 'none' : 'student' };
}

/**
 * Returns Student's t interval of a mean.
 * @returns null without values; null bounds for fewer than two values or all equal
 */
export function studentInterval(values: Sample): Interval | null {
  const { n, mean: value, squares, spread } = toMoments(values);
  if (n === 0) {
    return null;
  }
  if (!spread || squares === 0) {
    return { value, low: null, high: null, n };
  }
  const reach = studentTQuantile((1 + LEVEL) / 2, n - 1) * Math.sqrt(squares / (n - 1) / n);
  return { value, low: value - reach, high: value + reach, n };
}

/**
 * Returns the interval of the difference of two samples of returns, first - second: Newcombe's if all
 * returns are 0 or 1, otherwise Welch's.
 * @returns null if either side is empty
 */
export function differenceInterval(one: Sample, other: Sample): DifferenceInterval | null {
  const [first, second] = [toMoments(one), toMoments(other)];
  const binary = first.successes !== null && second.successes !== null;
  const interval = binary
    ? newcombeInterval(first.successes, first.n, second.successes, second.n)
    : welchInterval(first, second);
  if (interval === null) {
    return null;
  }
  return { ...interval, method: interval.low === null ? 'none' : binary ? 'newcombe' : 'welch' };
}

/**
 * Returns the percentile bootstrap interval of a mean paired difference, after - before. The resamples
 * depend only on the seed and the number of pairs.
 * @param pairs [before, after] of each item
 * @param seed a whole number of at least 0
 * @returns null without pairs; null bounds if all differences are equal, because resampling then shows
 *   no uncertainty
 * @throws C3Error('input') for a wrong seed or number of resamples, or a value that is not finite
 */
export function pairedBootstrap(
  pairs: readonly (readonly [before: number, after: number])[],
  seed: number,
  resamples = 10_000,
): Interval | null {
  if (!Number.isSafeInteger(seed) || seed < 0) {
    throw new C3Error('input', `The bootstrap seed is ${seed}; give a whole number of at least 0.`);
  }
  if (!Number.isSafeInteger(resamples) || resamples < 1) {
    throw new C3Error('input', `${resamples} bootstrap resamples were asked for; give a whole number of at least 1.`);
  }
  const differences = pairs.map(([before, after]) => after - before);
  if (!differences.every(Number.isFinite)) {
    throw new C3Error('input', 'A pair holds a value that is not finite; leave items without both values out.');
  }
  const n = differences.length;
  if (n === 0) {
    return null;
  }
  const value = mean(differences);
  if (!hasSpread(differences)) {
    return { value, low: null, high: null, n };
  }
  const means = new Float64Array(resamples);
  for (let resample = 0; resample < resamples; resample++) {
    const stream = openStream(seed, resample);
    let sum = 0;
    for (let draw = 0; draw < n; draw++) {
      sum += differences[Math.floor(uniform(stream, draw) * n)] ?? 0;
    }
    means[resample] = sum / n;
  }
  means.sort();
  return { value, low: sortedQuantile(means, (1 - LEVEL) / 2), high: sortedQuantile(means, (1 + LEVEL) / 2), n };
}

/** Returns a quantile of ascending values, linear between order statistics. */
function sortedQuantile(sorted: Float64Array, p: number): number {
  const place = p * (sorted.length - 1);
  const below = sorted[Math.floor(place)] ?? Number.NaN;
  const above = sorted[Math.ceil(place)] ?? Number.NaN;
  return below + (place - Math.floor(place)) * (above - below);
}

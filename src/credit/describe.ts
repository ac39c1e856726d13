/** Mean and variance of a list of numbers. */

import { C3Error } from '../shared/errors.ts';

/**
 * Returns the arithmetic mean.
 * @throws C3Error('input') for an empty list
 */
export function mean(values: readonly number[]): number {
  if (values.length === 0) {
    throw new C3Error('input', 'The mean of no values was asked for; leave empty samples out.');
  }
  let sum = 0;
  for (const value of values) {
    sum += value;
  }
  return sum / values.length;
}

/** Returns the sum of squared deviations from the mean; exactly 0 if all values are equal. */
export function squaredDeviations(values: readonly number[]): number {
  if (!hasSpread(values)) {
    return 0;
  }
  const centre = mean(values);
  let sum = 0;
  for (const value of values) {
    sum += (value - centre) ** 2;
  }
  return sum;
}

/**
 * Returns the variance with n - 1 in the denominator.
 * @returns null for fewer than two values
 */
export function sampleVariance(values: readonly number[]): number | null {
  return values.length < 2 ? null : squaredDeviations(values) / (values.length - 1);
}

/**
 * Returns the variance with n in the denominator; 0 for a single value.
 * @throws C3Error('input') for an empty list
 */
export function populationVariance(values: readonly number[]): number {
  if (values.length === 0) {
    throw new C3Error('input', 'The variance of no values was asked for; leave empty samples out.');
  }
  return squaredDeviations(values) / values.length;
}

/**
 * Returns true if at least two values differ. It compares exactly, because the mean of equal values
 * may have a rounding error.
 */
export function hasSpread(values: readonly number[]): boolean {
  return values.some((value) => value !== values[0]);
}

/** Mean and variance of a list of numbers. */
import { C3Error } from '../shared/errors.ts';

/**
 * Arithmetic mean.
 * @throws C3Error('input') for an empty list, which has none
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

/** Sum of squared deviations from the mean, by two passes; exactly 0 where all values are equal. */
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
 * Variance with n - 1 in the denominator.
 * @returns null for fewer than two values
 */
export function sampleVariance(values: readonly number[]): number | null {
  return values.length < 2 ? null : squaredDeviations(values) / (values.length - 1);
}

/**
 * Variance with n in the denominator; 0 for a single value.
 * @throws C3Error('input') for an empty list
 */
export function populationVariance(values: readonly number[]): number {
  if (values.length === 0) {
    throw new C3Error('input', 'The variance of no values was asked for; leave empty samples out.');
  }
  return squaredDeviations(values) / values.length;
}

/**
 * True where at least two values differ; compared exactly, because the mean of equal values may be off by a rounding.
 */
export function hasSpread(values: readonly number[]): boolean {
  return values.some((value) => value !== values[0]);
}

/** The published code's optional scaling of a group's credits. */

import { populationVariance, mean } from './describe.ts';

const EPSILON = 1e-8;

/**
 * Scales credits of one sibling group to (A - mean) / sqrt(variance + 1e-8), with the population
 * variance (C3 reference section 3.3).
 *
 * Scaling removes the effect of the leave-one-out ablation: for equal counts leave-one-out is n / (n -
 * 1) times the full mean, and both scale to the same numbers. It also removes the size of a credit:
 * two alternatives always get +1 and -1, or 0 and 0, whatever their difference.
 */
export function groupNormalize(credits: readonly number[]): number[] {
  if (credits.length === 0) {
    return [];
  }
  const centre = mean(credits);
  const scale = Math.sqrt(populationVariance(credits) + EPSILON);
  return credits.map((credit) => (credit - centre) / scale);
}

/** Results of evaluations as numbers with intervals. */

import { meanInterval, pairedBootstrap } from '../../credit/interval.ts';
import type { Interval } from '../../domain/credit.ts';
import type { RunSummary } from '../../domain/run.ts';

/**
 * Returns the share of solved problems with its interval: Wilson's for single episodes, Student's t
 * over the means of several. Returns null if all outcomes are masked.
 */
export function computeProportion(outcomes: readonly (number | null)[]): Interval | null {
  const interval = meanInterval(outcomes.filter((outcome) => outcome !== null));
  return interval === null ? null : { value: interval.value, low: interval.low, high: interval.high, n: interval.n };
}

/** Returns the intervals before and after, and the paired bootstrap of their difference. */
export function compareOutcomes(
  before: readonly (number | null)[],
  after: readonly (number | null)[],
  trained: boolean,
  seed: number,
): RunSummary['accuracy'] {
  const pairs = before.flatMap((value, index) => {
    const later = after[index];
    return value === null || later === null || later === undefined ? [] : [[value, later] as const];
  });
  return {
    before: computeProportion(before),
    after: trained ? computeProportion(after) : null,
    difference: trained && pairs.length > 0 ? pairedBootstrap(pairs, seed) : null,
  };
}

/** What evaluations measured, as numbers with their intervals. */
import { meanInterval, pairedBootstrap } from '../../credit/interval.ts';
import type { Interval } from '../../domain/credit.ts';
import type { RunSummary } from '../../domain/run.ts';

/**
 * The share of problems solved with its interval: Wilson's of single episodes, Student's t over the means of several;
 * null where all are masked.
 */
export function proportion(outcomes: readonly (number | null)[]): Interval | null {
  const interval = meanInterval(outcomes.filter((outcome) => outcome !== null));
  return interval === null ? null : { value: interval.value, low: interval.low, high: interval.high, n: interval.n };
}

/** Intervals before and after, and the paired bootstrap of their difference over problems. */
export function comparison(
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
    before: proportion(before),
    after: trained ? proportion(after) : null,
    difference: trained && pairs.length > 0 ? pairedBootstrap(pairs, seed) : null,
  };
}

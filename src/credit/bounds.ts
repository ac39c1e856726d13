/** Intervals of credits from those of differences or means. */

import type { Bounds } from './estimator.ts';
import type { DifferenceInterval } from './interval.ts';
import type { Sample } from './leftOut.ts';

export const NO_BOUNDS: Bounds = { low: null, high: null, method: 'none' };

/** Returns the number of returns in a sample. */
export const countReturns = (sample: Sample): number => ('n' in sample ? sample.n : sample.length);

/** Returns the interval of a credit that is a difference times a factor. */
export function scaleInterval(interval: DifferenceInterval | null, factor: number): Bounds {
  if (interval === null || interval.low === null || interval.high === null) {
    return NO_BOUNDS;
  }
  return { low: interval.low * factor, high: interval.high * factor, method: interval.method };
}

/** Moves an interval from its own value to the credit: a learned value is assumed to be exact. */
export function shiftInterval(interval: DifferenceInterval | null, credit: number): Bounds {
  if (interval === null || interval.low === null || interval.high === null) {
    return NO_BOUNDS;
  }
  const by = credit - interval.value;
  return { low: interval.low + by, high: interval.high + by, method: interval.method };
}

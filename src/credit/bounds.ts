/** From the interval of a difference or of a mean to that of a credit. */
import type { Bounds } from './estimator.ts';
import type { DifferenceInterval } from './interval.ts';
import type { Sample } from './leftOut.ts';

export const NO_BOUNDS: Bounds = { low: null, high: null, method: 'none' };

/** How many returns a sample holds. */
export const sizeOf = (sample: Sample): number => ('n' in sample ? sample.n : sample.length);

/** The interval of a credit that is a difference times a factor. */
export function scaled(interval: DifferenceInterval | null, factor: number): Bounds {
  if (interval === null || interval.low === null || interval.high === null) {
    return NO_BOUNDS;
  }
  return { low: interval.low * factor, high: interval.high * factor, method: interval.method };
}

/** The interval about the credit instead of about its own value: a learned value is taken as known. */
export function shifted(interval: DifferenceInterval | null, credit: number): Bounds {
  if (interval === null || interval.low === null || interval.high === null) {
    return NO_BOUNDS;
  }
  const by = credit - interval.value;
  return { low: interval.low + by, high: interval.high + by, method: interval.method };
}

/** Percentile bootstrap over whole units, so that the values of a unit stay together. */

import { openStream, uniform } from '../../credit/counter.ts';
import { mean } from '../../credit/describe.ts';
import { LEVEL } from '../../credit/interval.ts';
import type { Interval } from '../../domain/credit.ts';

/** Most draws over all resamples: with more units there are fewer resamples. */
const MOST_DRAWS = 20_000_000;
const FEWEST_RESAMPLES = 200;
const RESAMPLES = 2000;

/**
 * Returns the interval of a statistic of units. It depends only on the seed, the units and their
 * order.
 * @param statistic of the drawn units; null if it is not defined for them, which leaves the resample
 *   out
 * @param size weight of a unit in the bound on the work; the default is 1
 * @returns null if the statistic of the units is null; null bounds for fewer than two units, or if
 *   less than half of the resamples have a value
 */
export function bootstrap<Unit>(
  units: readonly Unit[],
  statistic: (drawn: readonly Unit[]) => number | null,
  seed = 0,
  size: (unit: Unit) => number = () => 1,
): Interval | null {
  const value = statistic(units);
  if (value === null) {
    return null;
  }
  const n = units.length;
  const bare: Interval = { value, low: null, high: null, n };
  if (n < 2) {
    return bare;
  }
  const work = units.reduce((total, unit) => total + size(unit), 0);
  const resamples = Math.max(FEWEST_RESAMPLES, Math.min(RESAMPLES, Math.floor(MOST_DRAWS / Math.max(1, work))));
  const found: number[] = [];
  const drawn: Unit[] = [];
  for (let resample = 0; resample < resamples; resample++) {
    const stream = openStream(seed, resample);
    for (let draw = 0; draw < n; draw++) {
      const unit = units[Math.floor(uniform(stream, draw) * n)];
      if (unit !== undefined) {
        drawn[draw] = unit;
      }
    }
    const one = statistic(drawn);
    if (one !== null) {
      found.push(one);
    }
  }
  if (found.length * 2 < resamples) {
    return bare;
  }
  found.sort((a, b) => a - b);
  const low = quantile(found, (1 - LEVEL) / 2);
  const high = quantile(found, (1 + LEVEL) / 2);
  // Resampling cannot show an uncertainty if it always gives the same value.
  return low === high ? bare : { value, low, high, n };
}

/** Returns the bootstrap interval of a mean, or null without values. */
export function bootstrapMean(values: readonly number[], seed = 0): Interval | null {
  return values.length === 0 ? null : bootstrap(values, (drawn) => mean(drawn), seed);
}

/** Returns a quantile of ascending values, linear between order statistics (R's type 7). */
export function quantile(sorted: readonly number[], p: number): number {
  const place = p * (sorted.length - 1);
  const below = sorted[Math.floor(place)] ?? Number.NaN;
  const above = sorted[Math.ceil(place)] ?? Number.NaN;
  return below === above ? below : below + (place - Math.floor(place)) * (above - below);
}

/** Percentile bootstrap over units that are drawn whole, so that what belongs together stays together. */
import { openStream, uniform } from '../../credit/counter.ts';
import { mean } from '../../credit/describe.ts';
import { LEVEL } from '../../credit/interval.ts';
import type { Interval } from '../../domain/credit.ts';

/** Draws at most, over all resamples: more units are resampled less often. */
const MOST_DRAWS = 20_000_000;
const FEWEST_RESAMPLES = 200;
const RESAMPLES = 2000;

/**
 * The interval of a statistic of units. Depends on the seed, the units and their order alone.
 * @param statistic of the drawn units; null where it is not defined for them, which leaves the resample out
 * @param size what a unit weighs in the bound on the work, 1 unless given
 * @returns null where the statistic of the units is null; null bounds for fewer than two units, or where less than half
 *   of the resamples have a value
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
  // Resampling cannot show an uncertainty where it always gives the same.
  return low === high ? bare : { value, low, high, n };
}

/** The bootstrap interval of a mean; null without values. */
export function bootstrapMean(values: readonly number[], seed = 0): Interval | null {
  return values.length === 0 ? null : bootstrap(values, (drawn) => mean(drawn), seed);
}

/** Quantile of ascending values, linear between order statistics (R's type 7, NumPy's default). */
export function quantile(sorted: readonly number[], p: number): number {
  const place = p * (sorted.length - 1);
  const below = sorted[Math.floor(place)] ?? Number.NaN;
  const above = sorted[Math.ceil(place)] ?? Number.NaN;
  return below === above ? below : below + (place - Math.floor(place)) * (above - below);
}

/** Timing pieces of work that take turns, so that whatever else this machine does meets all of them alike. */
import { setImmediate } from 'node:timers/promises';
import { CancelledError } from '../shared/errors.ts';
import { medianOf, type BenchOptions } from './report.ts';

/**
 * Median seconds of each side over `rounds` rounds, after one that does not count; every other round goes backwards.
 * @throws CancelledError
 */
export async function medianSeconds<Side extends string>(
  sides: Readonly<Record<Side, () => Promise<unknown>>>,
  rounds: number,
  { signal }: BenchOptions,
): Promise<Record<Side, number>> {
  const names = Object.keys(sides).filter((name): name is Side => Object.hasOwn(sides, name));
  const times = new Map<Side, number[]>(names.map((name) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const started = performance.now();
      await sides[name]();
      if (round > 0) {
        times.get(name)?.push((performance.now() - started) / 1000);
      }
      // Lets signals in.
      await setImmediate();
      if (signal.aborted) {
        throw new CancelledError();
      }
    }
  }
  const medians: Partial<Record<Side, number>> = {};
  for (const name of names) {
    medians[name] = medianOf(times.get(name) ?? []) ?? Number.NaN;
  }
  return medians as Record<Side, number>;
}

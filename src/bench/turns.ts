/**
 * Times pieces of work in turns, so that other load on this machine affects all of them equally.
 */

import { setImmediate } from 'node:timers/promises';
import { CancelledError } from '../shared/errors.ts';
import { takeMedian, type BenchOptions } from './report.ts';

/**
 * Returns the median seconds of each side over `rounds` rounds. A first round warms up and does not
 * count. Every other round runs the sides in reverse order.
 * @throws CancelledError
 */
export async function measureMedianSeconds<Side extends string>(
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
      // Lets Node.js handle signals such as Ctrl-C.
      await setImmediate();
      if (signal.aborted) {
        throw new CancelledError();
      }
    }
  }
  const medians: Partial<Record<Side, number>> = {};
  for (const name of names) {
    medians[name] = takeMedian(times.get(name) ?? []) ?? Number.NaN;
  }
  return medians as Record<Side, number>;
}

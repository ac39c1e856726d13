/**
 * How much of what takes long is tried: `npm test` tries a sample, `npm run test:full` (C3_TESTS=full) all of it, as
 * `npm run test:attack` does for the attacks.
 */

/** Whether everything is tried. */
export const FULL = process.env['C3_TESTS'] === 'full';

/** How many to try: inputs, kills, rounds. */
export function scaled(full: number, sample: number): number {
  return FULL ? full : sample;
}

/**
 * What to try of a list: all of it, or a sample that is spread evenly over it, the first and the last with it.
 * @param sample at least 2
 */
export function sampleOf<T>(all: readonly T[], sample: number): readonly T[] {
  if (FULL || all.length <= sample) {
    return all;
  }
  const places = new Set(
    Array.from({ length: sample }, (_, index) => Math.round((index * (all.length - 1)) / (sample - 1))),
  );
  return all.filter((_, index) => places.has(index));
}

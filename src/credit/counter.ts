/** A counter-based stream of numbers for resampling: a pure function of seed, stream and index. */

/** Two 32-bit keys; different streams of one seed share no arithmetic. */
export interface Stream {
  readonly first: number;
  readonly second: number;
}

const GOLDEN = 0x9e3779b9;

/** Maps 32-bit numbers one to one with low bias (Wellons' hash, constants by TheIronBorn). */
function mix(value: number): number {
  let x = value | 0;
  x = Math.imul(x ^ (x >>> 16), 0x21f0aaad);
  x = Math.imul(x ^ (x >>> 15), 0x735a2d97);
  return (x ^ (x >>> 15)) >>> 0;
}

/**
 * Opens a stream.
 * @param seed a whole number below 2^53
 * @param index number of the stream of this seed, from 0
 */
export function openStream(seed: number, index: number): Stream {
  const low = mix(seed % 2 ** 32);
  const high = mix(Math.floor(seed / 2 ** 32) ^ GOLDEN);
  const first = mix(mix(low ^ index) ^ high);
  return { first, second: mix(mix(high ^ index) + low) };
}

/** Returns the number of a stream at `position`, uniform in [0, 1) in steps of 2^-32. */
export function uniform(stream: Stream, position: number): number {
  return mix(mix(stream.first + Math.imul(position, GOLDEN)) ^ stream.second) / 2 ** 32;
}

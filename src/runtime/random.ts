/**
 * Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1,
 * 2, 3", SC 2011). A number depends only on the key of its stream and its position in it, never on the
 * order of calls.
 */

import { createHash } from 'node:crypto';

const MULTIPLIER_0 = 0xd2511f53;
const MULTIPLIER_1 = 0xcd9e8d57;
const WEYL_0 = 0x9e3779b9;
const WEYL_1 = 0xbb67ae85;
const ROUNDS = 10;

export type Words4 = readonly [number, number, number, number];

/** Computes one Philox4x32-10 block from a 128-bit counter and a 64-bit key. */
export function philox(counter: Words4, key: readonly [number, number]): Words4 {
  let [c0, c1, c2, c3] = counter;
  let [k0, k1] = key;
  for (let round = 0; round < ROUNDS; round++) {
    const high0 = multiplyHigh(MULTIPLIER_0, c0);
    const low0 = Math.imul(MULTIPLIER_0, c0) >>> 0;
    const high1 = multiplyHigh(MULTIPLIER_1, c2);
    const low1 = Math.imul(MULTIPLIER_1, c2) >>> 0;
    [c0, c1, c2, c3] = [(high1 ^ c1 ^ k0) >>> 0, low1, (high0 ^ c3 ^ k1) >>> 0, low0];
    k0 = (k0 + WEYL_0) >>> 0;
    k1 = (k1 + WEYL_1) >>> 0;
  }
  return [c0, c1, c2, c3];
}

/** Returns the upper 32 bits of the product of two unsigned 32-bit numbers. */
function multiplyHigh(a: number, b: number): number {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16);
  const cross = aLow * bHigh + (middle & 0xffff);
  return (aHigh * bHigh + Math.floor(middle / 0x10000) + Math.floor(cross / 0x10000)) >>> 0;
}

/**
 * The name of a stream (design promise 1). It omits the alternative indices of ancestors, so replay m
 * of two siblings shares its numbers.
 */
export interface StreamName {
  readonly seed: number;
  /** `iteration:3`, `request:2`, `evaluation:before` ... */
  readonly scope: string;
  readonly uidSha: string;
  readonly role: string;
  readonly turn: number;
  readonly sibling: number;
}

/** Returns the 128-bit key of a stream as 32 hex digits: half of SHA-256 over its canonical name. */
export function streamKey(name: StreamName): string {
  const canonical = JSON.stringify([name.seed, name.scope, name.uidSha, name.role, name.turn, name.sibling]);
  return createHash('sha256').update(canonical, 'utf8').digest('hex').slice(0, 32);
}

/** The random numbers of one stream. */
export class Stream {
  private readonly words: Words4;

  /** @param key 32 hex digits, from streamKey */
  constructor(key: string) {
    if (!/^[0-9a-f]{32}$/.test(key)) {
      throw new Error(`A stream key has 32 hex digits; this one is ${JSON.stringify(key.slice(0, 40))}.`);
    }
    const word = (index: number): number => Number.parseInt(key.slice(8 * index, 8 * index + 8), 16);
    this.words = [word(0), word(1), word(2), word(3)];
  }

  /** Returns the uniform number in [0, 1) at a position, a multiple of 2^-53. */
  uniform(position: number): number {
    const [a, b] = philox(
      [position >>> 0, Math.floor(position / 0x1_0000_0000) >>> 0, this.words[2], this.words[3]],
      [this.words[0], this.words[1]],
    );
    return ((a >>> 5) * 0x400_0000 + (b >>> 6)) / 0x20_0000_0000_0000;
  }

  /** Returns the standard normal number at a position (Box-Muller). */
  normal(position: number): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.uniform(2 * position)));
    return radius * Math.cos(2 * Math.PI * this.uniform(2 * position + 1));
  }
}

/** Random choices that depend only on a label: SHA-256 in counter mode. */

import { createHash } from 'node:crypto';

const WORDS_PER_BLOCK = 8;
const WORD_RANGE = 2 ** 32;

/** A stream of choices. Two streams with one label make the same choices. */
export class HashedStream {
  private readonly label: string;
  private block: Buffer = Buffer.alloc(0);
  private position = 0;

  constructor(label: string) {
    this.label = label;
  }

  /** Returns an integer in [low, high] without modulo bias, by rejection; high - low < 2^32. */
  integer(low: number, high: number): number {
    const range = high - low + 1;
    const fair = WORD_RANGE - (WORD_RANGE % range);
    let word = this.word();
    while (word >= fair) {
      word = this.word();
    }
    return low + (word % range);
  }

  /**
   * Returns one of the items, each equally likely.
   * @throws RangeError if there are none
   */
  pick<Item extends string | object>(items: readonly Item[]): Item {
    const item = items.length === 0 ? undefined : items[this.integer(0, items.length - 1)];
    if (item === undefined) {
      throw new RangeError('There is nothing to pick from.');
    }
    return item;
  }

  /** Returns `count` of the items, or all, in random order, none twice. */
  some<Item>(items: readonly Item[], count: number): Item[] {
    const rest = [...items];
    return Array.from({ length: Math.min(count, items.length) }).flatMap(() =>
      rest.splice(this.integer(0, rest.length - 1), 1),
    );
  }

  /** Returns true with the given probability, to 2^-32. */
  chance(probability: number): boolean {
    return this.word() < probability * WORD_RANGE;
  }

  /**
   * Returns one of the items, with a probability in proportion to its weight; weights are nonnegative,
   * missing ones 0.
   * @throws RangeError if no weight is positive
   */
  weighted<Item extends string | object>(items: readonly Item[], weights: readonly number[]): Item {
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    let rest = (this.word() / WORD_RANGE) * total;
    let chosen: Item | undefined;
    for (const [index, item] of items.entries()) {
      const weight = weights[index] ?? 0;
      if (weight === 0) {
        continue;
      }
      chosen = item;
      if (rest < weight) {
        break;
      }
      rest -= weight;
    }
    if (chosen === undefined) {
      throw new RangeError('There is nothing to pick from.');
    }
    return chosen;
  }

  private word(): number {
    const slot = this.position % WORDS_PER_BLOCK;
    if (slot === 0) {
      const counter = this.position / WORDS_PER_BLOCK;
      this.block = createHash('sha256').update(`${this.label}\0${counter}`, 'utf8').digest();
    }
    this.position++;
    return this.block.readUInt32BE(slot * 4);
  }
}

/** Combines all other items for each of many, in linear time and without subtraction, which would lose digits. */

import { hasSpread, mean, squaredDeviations } from './describe.ts';

/**
 * Up to this number of additions, the others are added one by one in their order, as re-execution
 * needs bit for bit. Above, they are combined from both ends.
 */
export const MOST_AFRESH = 1_000_000;

/**
 * Combines, for each item, all other items: those before it from the left, those behind it from the
 * right.
 * @param join combines two neighbors; associative except for rounding
 * @param nothing the result for no items
 */
export function combineOthers<Item>(
  items: readonly Item[],
  join: (before: Item, behind: Item) => Item,
  nothing: Item,
): Item[] {
  const behind = new Array<Item>(items.length).fill(nothing);
  for (let index = items.length - 2; index >= 0; index--) {
    behind[index] = join(items[index + 1] ?? nothing, behind[index + 1] ?? nothing);
  }
  let before = nothing;
  return items.map((item, index) => {
    const others = join(before, behind[index] ?? nothing);
    before = join(before, item);
    return others;
  });
}

/** The statistics of a sample that an interval needs. */
export interface Moments {
  readonly n: number;
  /** 0 without values. */
  readonly mean: number;
  /** Sum of squared deviations from the mean. */
  readonly squares: number;
  /** Number of values that are 1; null if a value is neither 0 nor 1. */
  readonly successes: number | null;
  /** True if at least two values differ. */
  readonly spread: boolean;
  /** The first value, or null without values. */
  readonly first: number | null;
}

/** Values, or their moments. */
export type Sample = readonly number[] | Moments;

const NO_VALUES: Moments = { n: 0, mean: 0, squares: 0, successes: 0, spread: false, first: null };

export function toMoments(sample: Sample): Moments {
  if ('n' in sample) {
    return sample;
  }
  const [first] = sample;
  if (first === undefined) {
    return NO_VALUES;
  }
  let successes: number | null = 0;
  for (const value of sample) {
    successes = successes === null || (value !== 0 && value !== 1) ? null : successes + value;
  }
  return {
    n: sample.length,
    mean: mean(sample),
    squares: squaredDeviations(sample),
    successes,
    spread: hasSpread(sample),
    first,
  };
}

/**
 * Returns the moments of two samples together (Chan, Golub and LeVeque, The American Statistician 37,
 * 1983, eq. 2.1).
 */
function mergeMoments(one: Moments, other: Moments): Moments {
  if (one.n === 0) {
    return other;
  }
  if (other.n === 0) {
    return one;
  }
  const n = one.n + other.n;
  const apart = other.mean - one.mean;
  return {
    n,
    mean: one.mean + apart * (other.n / n),
    squares: one.squares + other.squares + apart ** 2 * ((one.n * other.n) / n),
    successes: one.successes === null || other.successes === null ? null : one.successes + other.successes,
    spread: one.spread || other.spread || one.first !== other.first,
    first: one.first,
  };
}

/** Returns, for each sample, all others pooled. */
export function poolOtherSamples(samples: readonly (readonly number[])[]): Sample[] {
  const values = samples.reduce((total, sample) => total + sample.length, 0);
  if (samples.length * values > MOST_AFRESH) {
    return combineOthers(
      samples.map((sample) => toMoments(sample)),
      mergeMoments,
      NO_VALUES,
    );
  }
  return samples.map((_, index) => samples.flatMap((sample, other) => (other === index ? [] : sample)));
}

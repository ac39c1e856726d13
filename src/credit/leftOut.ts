/** What all others come to, for each of many: in linear time, and without subtracting, which would lose digits. */
import { hasSpread, mean, squaredDeviations } from './describe.ts';

/**
 * Up to so many additions others are added up afresh, in their order, as they are re-executed bit for bit; beyond, from
 * both ends.
 */
export const MOST_AFRESH = 1_000_000;

/**
 * For each item what all others come to: those before it from the left, those behind it from the right.
 * @param join of two neighbors; associative but for rounding
 * @param nothing what no items come to
 */
export function leftOut<Item>(
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

/** What an interval needs to know of a sample. */
export interface Moments {
  readonly n: number;
  /** 0 without values. */
  readonly mean: number;
  /** Sum of squared deviations from the mean. */
  readonly squares: number;
  /** How many values are 1; null where one is neither 0 nor 1. */
  readonly successes: number | null;
  /** Whether at least two values differ. */
  readonly spread: boolean;
  /** The first value; null without values. */
  readonly first: number | null;
}

/** Values, or what is known of them. */
export type Sample = readonly number[] | Moments;

const NO_VALUES: Moments = { n: 0, mean: 0, squares: 0, successes: 0, spread: false, first: null };

export function momentsOf(sample: Sample): Moments {
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

/** The moments of two samples together (Chan, Golub and LeVeque, The American Statistician 37, 1983, eq. 2.1). */
function joined(one: Moments, other: Moments): Moments {
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

/** For each sample all others, pooled. */
export function samplesOfOthers(samples: readonly (readonly number[])[]): Sample[] {
  const values = samples.reduce((total, sample) => total + sample.length, 0);
  if (samples.length * values > MOST_AFRESH) {
    return leftOut(
      samples.map((sample) => momentsOf(sample)),
      joined,
      NO_VALUES,
    );
  }
  return samples.map((_, index) => samples.flatMap((sample, other) => (other === index ? [] : sample)));
}

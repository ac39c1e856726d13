/** Spearman's rank correlation with average ranks for ties. */

import { hasSpread, mean } from '../../credit/describe.ts';

export type Pair = readonly [first: number, second: number];

/** Returns ranks from 1; tied values share the mean of their ranks. */
export function averageRanks(values: readonly number[]): number[] {
  const order = values.map((_, index) => index).sort((a, b) => (values[a] ?? 0) - (values[b] ?? 0));
  const ranks = new Array<number>(values.length).fill(0);
  for (let start = 0; start < order.length;) {
    let end = start + 1;
    while (end < order.length && values[order[end] ?? 0] === values[order[start] ?? 0]) {
      end++;
    }
    for (const index of order.slice(start, end)) {
      ranks[index] = (start + 1 + end) / 2;
    }
    start = end;
  }
  return ranks;
}

/**
 * Returns Pearson's correlation.
 * @returns in [-1, 1]; null for fewer than two pairs, or if either side is constant
 */
export function pearson(pairs: readonly Pair[]): number | null {
  const first = pairs.map(([value]) => value);
  const second = pairs.map(([, value]) => value);
  if (!hasSpread(first) || !hasSpread(second)) {
    return null;
  }
  const [centre, other] = [mean(first), mean(second)];
  let [together, one, two] = [0, 0, 0];
  for (const [a, b] of pairs) {
    together += (a - centre) * (b - other);
    one += (a - centre) ** 2;
    two += (b - other) ** 2;
  }
  const spread = Math.sqrt(one) * Math.sqrt(two);
  return spread > 0 ? Math.max(-1, Math.min(1, together / spread)) : null;
}

/**
 * Returns Spearman's correlation: Pearson's of the average ranks.
 * @returns null if pearson does
 */
export function spearman(pairs: readonly Pair[]): number | null {
  const first = averageRanks(pairs.map(([value]) => value));
  const second = averageRanks(pairs.map(([, value]) => value));
  return pearson(first.map((rank, index) => [rank, second[index] ?? 0]));
}

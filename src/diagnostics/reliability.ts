/**
 * Reproducibility of credit: split-half reliability and the law of its noise (reference section 10,
 * noise law, and 12).
 */

import { unmasked } from '../credit/aggregate.ts';
import { openStream, uniform } from '../credit/counter.ts';
import { hasSpread, mean, populationVariance, squaredDeviations } from '../credit/describe.ts';
import { leaveOneOut } from '../credit/estimators/loo.ts';
import type { Interval } from '../domain/credit.ts';
import { listCreditedAlternatives, type DiagnosticBucket } from './bucket.ts';
import { bootstrap, bootstrapMean } from './statistics/bootstrap.ts';
import { spearman, type Pair } from './statistics/rank.ts';

/** Fewer alternatives than this have no meaningful ranking. */
const FEWEST_ALTERNATIVES = 3;

export interface Reliability {
  /**
   * Mean over contexts of the correlation between the halves, with a bootstrap interval over contexts;
   * null if no context can be split.
   */
  readonly evenOdd: Interval | null;
  /** The same over random halves. */
  readonly random: Interval | null;
  /** Contexts with fewer than three alternatives or two replays, or with a half without differences. */
  readonly leftOut: number;
}

/**
 * Returns Spearman's correlation between the leave-one-out credits of the even and the odd replays of
 * one context, over the replays that every alternative has.
 * @returns null for fewer than three alternatives, fewer than two replays, or a half whose credits are
 *   all equal
 */
export function splitHalfReliability(bucket: DiagnosticBucket): number | null {
  const rows = listReturnRows(bucket);
  return rows === null
    ? null
    : correlate(
        rows.map((row) => mean(row.filter((_, m) => m % 2 === 0))),
        rows.map((row) => mean(row.filter((_, m) => m % 2 === 1))),
      );
}

/**
 * Returns the mean of splitHalfReliability over random halves of equal size, drawn anew for each alternative.
 * Null if no split has a value.
 */
export function randomSplitHalf(bucket: DiagnosticBucket, splits = 200, seed = 0): number | null {
  const rows = listReturnRows(bucket);
  if (rows === null) {
    return null;
  }
  const found: number[] = [];
  for (let split = 0; split < splits; split++) {
    const halves = rows.map((row, j) => {
      const mixed = shuffleValues(row, seed, split * rows.length + j);
      const half = Math.floor(mixed.length / 2);
      return [mean(mixed.slice(0, half)), mean(mixed.slice(half, 2 * half))] as const;
    });
    const one = correlate(
      halves.map(([first]) => first),
      halves.map(([, second]) => second),
    );
    if (one !== null) {
      found.push(one);
    }
  }
  return found.length === 0 ? null : mean(found);
}

/** Returns the split-half reliability of credit over contexts. */
export function measureReliability(buckets: readonly DiagnosticBucket[], seed = 0): Reliability {
  const evenOdd = buckets.flatMap((bucket) => splitHalfReliability(bucket) ?? []);
  const random = buckets.flatMap((bucket) => randomSplitHalf(bucket, 200, seed) ?? []);
  return {
    evenOdd: bootstrapMean(evenOdd, seed),
    random: bootstrapMean(random, seed),
    leftOut: buckets.length - evenOdd.length,
  };
}

/**
 * Returns the variance that the replays alone give a leave-one-out credit: s^2 n / (c (n - 1)) for n
 * alternatives of c replays with variance s^2 each. For a fixed number n c of evaluator calls it is
 * smallest at n = 2.
 */
export function predictedNoise(variance: number, alternatives: number, replays: number): number {
  return (variance * alternatives) / (replays * (alternatives - 1));
}

export interface NoiseLaw {
  /**
   * Measured noise divided by predicted noise, both summed over contexts, with a bootstrap interval over
   * contexts. It is 1 if replays are independent.
   */
  readonly ratio: Interval | null;
  /** Mean predicted variance of a credit with all replays; `share` is its share in their variance. */
  readonly predicted: number | null;
  readonly share: number | null;
  /** Contexts left out: fewer than two alternatives or replays, or no variance within any alternative. */
  readonly leftOut: number;
}

/**
 * Tests the noise law on the stored replays: Var(A_even - A_odd) / 2 over a context's alternatives,
 * divided by the law's prediction for halves, with s^2 the pooled variance within alternatives.
 * Replays that share random numbers between alternatives have less noise than the law predicts.
 */
export function testNoiseLaw(buckets: readonly DiagnosticBucket[], seed = 0): NoiseLaw {
  const found = buckets.flatMap((bucket) => contextNoise(bucket) ?? []);
  const predicted = found.length === 0 ? null : mean(found.map((one) => one.predicted));
  const variance = found.length === 0 ? 0 : mean(found.map((one) => one.variance));
  return {
    // A ratio of sums, because the mean of ratios is too large if few replays estimate s^2.
    ratio:
      found.length === 0
        ? null
        : bootstrap(found, (drawn) => sumField(drawn, 'measured') / sumField(drawn, 'ofHalves'), seed),
    predicted,
    share: predicted === null || variance === 0 ? null : predicted / variance,
    leftOut: buckets.length - found.length,
  };
}

function contextNoise(
  bucket: DiagnosticBucket,
): {
  readonly measured: number;
  readonly ofHalves: number;
  readonly predicted: number;
  readonly variance: number;
} | null {
  const all = listReturnRows(bucket, 2);
  const replays = all?.[0]?.length ?? 0;
  if (all === null) {
    return null;
  }
  const half = Math.floor(replays / 2);
  const rows = all.map((row) => row.slice(0, 2 * half));
  const within = rows.reduce((sum, row) => sum + squaredDeviations(row), 0) / (rows.length * (2 * half - 1));
  if (!(within > 0)) {
    return null;
  }
  const [even, odd] = [0, 1].map((parity) =>
    creditMeans(rows.map((row) => mean(row.filter((_, m) => m % 2 === parity)))),
  );
  const differences = (even ?? []).map((credit, j) => credit - (odd?.[j] ?? 0));
  return {
    measured: populationVariance(differences) / 2,
    ofHalves: predictedNoise(within, rows.length, half),
    predicted: predictedNoise(within, rows.length, 2 * half),
    // Credits of equal counts add up to 0, so this is their mean square, which the law predicts.
    variance: populationVariance(creditMeans(rows.map((row) => mean(row)))),
  };
}

/**
 * Returns the returns of the credited alternatives, cut to the replays that all of them have; null if
 * there are too few.
 */
function listReturnRows(bucket: DiagnosticBucket, fewest = FEWEST_ALTERNATIVES): number[][] | null {
  const rows = listCreditedAlternatives(bucket).map(({ returns }) => unmasked(returns));
  const replays = rows.reduce((least, row) => Math.min(least, row.length), Infinity);
  return rows.length < fewest || replays < 2 ? null : rows.map((row) => row.slice(0, replays));
}

function creditMeans(means: readonly number[]): number[] {
  return leaveOneOut(means.map((value) => ({ mean: value, count: 1 }))).map((found) => found?.credit ?? 0);
}

/**
 * Correlates means instead of leave-one-out credits, which are an increasing linear function of them
 * and add rounding.
 */
function correlate(first: readonly number[], second: readonly number[]): number | null {
  if (!hasSpread(first) || !hasSpread(second)) {
    return null;
  }
  return spearman(first.map((value, index): Pair => [value, second[index] ?? 0]));
}

function sumField<Name extends string>(items: readonly Readonly<Record<Name, number>>[], name: Name): number {
  return items.reduce((sum, item) => sum + item[name], 0);
}

function shuffleValues(values: readonly number[], seed: number, stream: number): number[] {
  const numbers = openStream(seed, stream);
  const mixed = [...values];
  for (let last = mixed.length - 1; last > 0; last--) {
    const other = Math.floor(uniform(numbers, last) * (last + 1));
    const kept = mixed[last] ?? 0;
    mixed[last] = mixed[other] ?? 0;
    mixed[other] = kept;
  }
  return mixed;
}

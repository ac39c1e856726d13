/** Summaries over seeds, and paired tests of methods (C3 appendix G; reference section 6.4). */

import { hasSpread, mean, sampleVariance, squaredDeviations } from '../../credit/describe.ts';
import { studentInterval } from '../../credit/interval.ts';
import { regularizedBeta } from '../../credit/studentT.ts';
import type { Interval } from '../../domain/credit.ts';
import { C3Error } from '../../shared/errors.ts';
import type { Pair } from './rank.ts';

export interface SeedSummary {
  readonly mean: number;
  /** With n - 1 in the denominator; null for one seed. */
  readonly standardDeviation: number | null;
  readonly n: number;
  /** Student's t over seeds; null bounds for one seed or equal values. */
  readonly interval: Interval;
}

/** Returns mean and standard deviation over seeds, or null without any. */
export function summarizeSeeds(values: readonly number[]): SeedSummary | null {
  const interval = studentInterval(values);
  if (interval === null) {
    return null;
  }
  const variance = sampleVariance(values);
  return {
    mean: interval.value,
    standardDeviation: variance === null ? null : Math.sqrt(variance),
    n: values.length,
    interval,
  };
}

export interface PairedTest {
  readonly name: 'mcnemar' | 't' | 'sign-flip';
  /** Mean of second - first. */
  readonly difference: number;
  /** Two-sided. */
  readonly p: number;
  readonly n: number;
}

/**
 * McNemar's exact test: the probability, with a fair coin, of a split at least this uneven among the
 * items that only one of two methods solves.
 * @param pairs 0 or 1 of each item by the first and the second method
 * @returns null without pairs
 * @throws C3Error('input') for a value that is neither 0 nor 1
 */
export function mcnemarTest(pairs: readonly Pair[]): PairedTest | null {
  if (pairs.some((pair) => pair.some((value) => value !== 0 && value !== 1))) {
    throw new C3Error('input', 'McNemar compares items that are solved or not; give 0 or 1.');
  }
  if (pairs.length === 0) {
    return null;
  }
  const gained = pairs.filter(([first, second]) => second > first).length;
  const lost = pairs.filter(([first, second]) => second < first).length;
  const [fewer, total] = [Math.min(gained, lost), gained + lost];
  // P(X <= fewer) for X of a fair coin: I_1/2(total - fewer, fewer + 1).
  const tail = total === 0 ? 1 : fewer === total ? 1 : regularizedBeta(0.5, total - fewer, fewer + 1);
  return { name: 'mcnemar', difference: (gained - lost) / pairs.length, p: Math.min(1, 2 * tail), n: pairs.length };
}

/**
 * The paired t test.
 * @returns null for fewer than two pairs, or if all differences are equal
 */
export function pairedTTest(pairs: readonly Pair[]): PairedTest | null {
  const differences = pairs.map(([first, second]) => second - first);
  if (differences.length < 2 || !hasSpread(differences)) {
    return null;
  }
  const n = differences.length;
  const t2 = (mean(differences) ** 2 * n * (n - 1)) / squaredDeviations(differences);
  return { name: 't', difference: mean(differences), p: regularizedBeta((n - 1) / (n - 1 + t2), (n - 1) / 2, 0.5), n };
}

/** More pairs than this have too many combinations of signs. */
const MOST_FLIPPED = 20;

/**
 * The exact sign-flip test of paired differences, for a few seeds: the share of the 2^n choices of
 * signs whose sum is at least as large. With five seeds p cannot fall below 2/32.
 * @returns null without pairs, or for more than 20
 */
export function signFlipTest(pairs: readonly Pair[]): PairedTest | null {
  const differences = pairs.map(([first, second]) => second - first);
  const n = differences.length;
  if (n === 0 || n > MOST_FLIPPED) {
    return null;
  }
  const sumOf = (signs: number): number =>
    differences.reduce((sum, value, index) => sum + ((signs >> index) & 1 ? -value : value), 0);
  // The tolerance counts sums that differ only by rounding.
  const observed = Math.abs(sumOf(0)) * (1 - 1e-12) - 1e-300;
  let asLarge = 0;
  for (let signs = 0; signs < 2 ** n; signs++) {
    if (Math.abs(sumOf(signs)) >= observed) {
      asLarge++;
    }
  }
  return { name: 'sign-flip', difference: mean(differences), p: asLarge / 2 ** n, n };
}

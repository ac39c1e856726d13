/** Compares returns that were sampled again with the stored ones, for replays that cannot be compared by tokens. */

import type { ReturnComparison, ReturnSamples } from '../domain/verification.ts';
import { openStream, uniform } from './counter.ts';
import { mean, sampleVariance } from './describe.ts';

const NORMAL_95 = 1.959963984540054;
const ROUNDING = 1e-12;

/**
 * Compares two samples in strata. The statistic is the weighted mean over strata of the difference of
 * means, with weights n1 n2 / (n1 + n2). p is the share of permutations within strata whose statistic
 * is at least as far from 0, including the observed one (Phipson and Smyth 2010). Numbers are drawn by
 * counter, so that equal samples give equal results.
 * @returns null if no stratum has both samples
 */
export function compareReturns(strata: readonly ReturnSamples[], permutations = 2000): ReturnComparison | null {
  const used = strata.filter(({ stored, again }) => stored.length > 0 && again.length > 0);
  if (used.length === 0) {
    return null;
  }
  const weights = used.map(({ stored, again }) => (stored.length * again.length) / (stored.length + again.length));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const value = weightDifferences(used, weights, total);
  let asFar = 0;
  for (let permutation = 0; permutation < permutations; permutation++) {
    const stream = openStream(0, permutation);
    let drawn = 0;
    const shuffled = used.map(({ stored, again }) => {
      const all = [...stored, ...again];
      // Fisher-Yates shuffle, only for the places of the first sample.
      for (let place = 0; place < stored.length; place++) {
        const other = place + Math.floor(uniform(stream, drawn++) * (all.length - place));
        [all[place], all[other]] = [all[other] ?? 0, all[place] ?? 0];
      }
      return { stored: all.slice(0, stored.length), again: all.slice(stored.length) };
    });
    if (Math.abs(weightDifferences(shuffled, weights, total)) >= Math.abs(value) - ROUNDING) {
      asFar++;
    }
  }
  const variance = used.reduce((sum, { stored, again }, index) => {
    const share = (weights[index] ?? 0) / total;
    return sum + share ** 2 * (varianceOfMean(stored) + varianceOfMean(again));
  }, 0);
  const half = variance > 0 && Number.isFinite(variance) ? NORMAL_95 * Math.sqrt(variance) : null;
  const [stored, again] = [used.flatMap((one) => one.stored), used.flatMap((one) => one.again)];
  return {
    n: { stored: stored.length, again: again.length },
    mean: { stored: mean(stored), again: mean(again) },
    difference: { value, low: half === null ? null : value - half, high: half === null ? null : value + half },
    p: (1 + asFar) / (1 + permutations),
  };
}

const weightDifferences = (strata: readonly ReturnSamples[], weights: readonly number[], total: number): number =>
  strata.reduce((sum, { stored, again }, index) => sum + (weights[index] ?? 0) * (mean(again) - mean(stored)), 0) /
  total;

/** Returns the variance of a mean; infinite for one return, whose variance is unknown. */
const varianceOfMean = (values: readonly number[]): number => (sampleVariance(values) ?? Infinity) / values.length;

/**
 * A confidence sequence for a mean difference of bounded returns, by betting. It is valid at every
 * look, whatever the number of looks and the reason for them (Waudby-Smith and Ramdas, "Estimating
 * means of bounded random variables by betting", JRSS B 86, 2024).
 */

import type { BucketEvidence } from './pairing.ts';

/** Two-sided level; each side gets half. */
export const ALPHA = 0.05;

/**
 * Returns the capital that decides a side: the capital of a bet against a true hypothesis exceeds it
 * with probability at most alpha / 2 (Ville's inequality).
 */
const requiredCapital = (alpha: number): number => 2 / alpha;

/**
 * Stakes as shares of the capital, and the part of the capital that bets with each. They were chosen
 * once, by the mean number of replays until a verdict on contexts of known credit, and never after a
 * look at results that they apply to. Pairs on shared streams decide a credit of 0.25, 0.5 and 0.8
 * after 64, 32 and 20 replays. Grids with larger stakes save a tenth of these replays, and need a
 * tenth to nine tenths more for a credit of 0.1 on separate streams.
 */
const STAKES: readonly (readonly [theta: number, weight: number])[] = [
  [0.1, 0.1],
  [0.25, 0.2],
  [0.45, 0.2],
  [0.65, 0.2],
  [0.85, 0.2],
  [0.97, 0.1],
];

/** Number of halvings of the range in the search for a bound. */
const HALVINGS = 20;

/** A side of the interval: the sign that every difference is multiplied by. */
export type Side = 1 | -1;

/**
 * Returns the capital of a bet on a bucket, the mean over its assignments: the product of 1 + theta
 * (side D - d0) / (span + d0) over the units of each assignment.
 */
function bucketCapital({ assignments }: BucketEvidence, side: Side, factor: number, d0: number): number {
  let sum = 0;
  for (const units of assignments) {
    let product = 1;
    for (const unit of units) {
      product *= 1 + factor * (side * unit - d0);
    }
    sum += product;
  }
  return sum / assignments.length;
}

/** Returns the logarithm of the same capital, for capitals outside the range of numbers. */
function logBucketCapital({ assignments }: BucketEvidence, side: Side, factor: number, d0: number): number {
  const logs = assignments.map((units) =>
    units.reduce((log, unit) => log + Math.log(1 + factor * (side * unit - d0)), 0),
  );
  return logSum(logs) - Math.log(assignments.length);
}

/**
 * Returns the log capital of each stake in a bet that the mean of side * D is above d0. The capital is
 * averaged over the assignments of a bucket, and multiplied over buckets, which are independent.
 * @param span the range of the returns: D lies in [-span, span]
 */
export function stakeCapitals(evidence: readonly BucketEvidence[], side: Side, d0: number, span: number): number[] {
  return STAKES.map(([theta]) => {
    const factor = theta / (span + d0);
    let total = 0;
    for (const bucket of evidence) {
      total += logBucketCapital(bucket, side, factor, d0);
    }
    return total;
  });
}

/** Returns the log capital of all stakes after `units` further units, each of which adds `growth`. */
export function mixedCapital(capitals: readonly number[], growth: readonly number[], units: number): number {
  return logSum(
    capitals.map((capital, index) => capital + units * (growth[index] ?? 0) + Math.log(STAKES[index]?.[1] ?? 0)),
  );
}

/** Returns true if a log capital suffices to decide a side. */
export const isCapitalEnough = (capital: number, alpha = ALPHA): boolean => capital >= Math.log(requiredCapital(alpha));

export const THETAS: readonly number[] = STAKES.map(([theta]) => theta);

/**
 * Returns the interval of the mean of D at level 1 - alpha, valid at all looks together.
 *
 * The capital of the bet on "above d0" falls in d0, so the lower bound is the point where it drops
 * below 2 / alpha. The upper bound is the mirror image. Halving finds both, rounded outward.
 * @param span the range of the returns: D lies in [-span, span]
 */
export function bettingInterval(
  evidence: readonly BucketEvidence[],
  span: number,
  alpha = ALPHA,
): { readonly low: number; readonly high: number } {
  // Avoids -0, which the mirror image of a bound at 0 would be.
  return { low: lowerBound(evidence, 1, span, alpha), high: 0 - lowerBound(evidence, -1, span, alpha) };
}

function lowerBound(evidence: readonly BucketEvidence[], side: Side, span: number, alpha: number): number {
  const excluded = (d0: number): boolean => isExcluded(evidence, side, d0, span, alpha);
  // Zero itself is tested, so that a bound is on the same side of zero as the evidence.
  const positive = excluded(0);
  let below = positive ? 0 : -span;
  let above = positive ? span : 0;
  for (let halving = 0; halving < HALVINGS; halving++) {
    const middle = (below + above) / 2;
    if (excluded(middle)) {
      below = middle;
    } else {
      above = middle;
    }
  }
  return below;
}

/** Returns true if all stakes together have won enough against "the mean is d0 or less". */
export function isExcluded(
  evidence: readonly BucketEvidence[],
  side: Side,
  d0: number,
  span: number,
  alpha = ALPHA,
): boolean {
  let capital = 0;
  for (const [theta, weight] of STAKES) {
    const factor = theta / (span + d0);
    let product = weight;
    for (const bucket of evidence) {
      product *= bucketCapital(bucket, side, factor, d0);
    }
    capital += product;
  }
  // A product that underflows counts as 0, which only widens the interval.
  return Number.isFinite(capital)
    ? capital >= requiredCapital(alpha)
    : isCapitalEnough(mixedCapital(stakeCapitals(evidence, side, d0, span), [], 0), alpha);
}

function logSum(logs: readonly number[]): number {
  const largest = Math.max(...logs);
  if (largest === -Infinity) {
    return -Infinity;
  }
  let sum = 0;
  for (const log of logs) {
    sum += Math.exp(log - largest);
  }
  return largest + Math.log(sum);
}

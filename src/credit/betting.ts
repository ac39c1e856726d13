/**
 * A confidence sequence for a mean difference of bounded returns, by betting: valid at every look, however often and
 * for whatever reason somebody looks (Waudby-Smith and Ramdas, "Estimating means of bounded random variables by
 * betting", JRSS B 86, 2024).
 */
import type { BucketEvidence } from './pairing.ts';

/** Two-sided; each side is given half. */
export const ALPHA = 0.05;

/**
 * Evidence that a side needs: the capital of a bet against a true hypothesis exceeds it with probability at most alpha
 * / 2 (Ville's inequality).
 */
const needed = (alpha: number): number => 2 / alpha;

/**
 * Shares of the capital that are staked, and how much of the capital is bet at each. Chosen once, by the mean number of
 * replays until a verdict on contexts of known credit, never after a look at results that they are applied to: pairs
 * on shared streams decide a credit of 0.25, 0.5 and 0.8 after 64, 32 and 20 replays. Grids with larger stakes save a
 * tenth of these, and need a tenth to nine tenths more for a credit of 0.1 on separate streams.
 */
const STAKES: readonly (readonly [theta: number, weight: number])[] = [
  [0.1, 0.1],
  [0.25, 0.2],
  [0.45, 0.2],
  [0.65, 0.2],
  [0.85, 0.2],
  [0.97, 0.1],
];

/** Halvings of the range in which a bound is sought. */
const HALVINGS = 20;

/** A side of the interval: the sign that every difference is taken with. */
export type Side = 1 | -1;

/**
 * The capital of a bet on a bucket, the mean over its assignments: the product of 1 + theta (side D - d0) / (span + d0)
 * over the units of each.
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

/** The logarithm of the same, for capitals that no number holds. */
function logBucketCapital({ assignments }: BucketEvidence, side: Side, factor: number, d0: number): number {
  const logs = assignments.map((units) =>
    units.reduce((log, unit) => log + Math.log(1 + factor * (side * unit - d0)), 0),
  );
  return logSum(logs) - Math.log(assignments.length);
}

/**
 * The log capital of each stake in a bet that the mean of side * D is above d0: over the assignments of a bucket it is
 * averaged, over buckets, which are independent, multiplied.
 * @param span the returns' range: D lies in [-span, span]
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

/** The log capital of all stakes together, after so many further units that add `growth` to each. */
export function mixedCapital(capitals: readonly number[], growth: readonly number[], units: number): number {
  return logSum(
    capitals.map((capital, index) => capital + units * (growth[index] ?? 0) + Math.log(STAKES[index]?.[1] ?? 0)),
  );
}

/** Whether a log capital is enough to say that a side is decided. */
export const isEnough = (capital: number, alpha = ALPHA): boolean => capital >= Math.log(needed(alpha));

export const THETAS: readonly number[] = STAKES.map(([theta]) => theta);

/**
 * The interval of the mean of D at level 1 - alpha, valid at all looks together.
 *
 * The capital of the bet on "above d0" falls in d0, so the lower bound is where it drops below 2 / alpha; the upper one
 * is the mirror image. Either is found by halving and rounded outward.
 * @param span the returns' range, so that D lies in [-span, span]
 */
export function bettingInterval(
  evidence: readonly BucketEvidence[],
  span: number,
  alpha = ALPHA,
): { readonly low: number; readonly high: number } {
  // Minus zero, which the mirror image of a bound at 0 would be, reads oddly.
  return { low: lowerBound(evidence, 1, span, alpha), high: 0 - lowerBound(evidence, -1, span, alpha) };
}

function lowerBound(evidence: readonly BucketEvidence[], side: Side, span: number, alpha: number): number {
  const excluded = (d0: number): boolean => isExcluded(evidence, side, d0, span, alpha);
  // Zero is looked at itself, so that a bound is on the side of it on which the evidence is.
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

/** Whether all stakes together have won enough against "the mean is d0 or less". */
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
  // What is too small for a number counts as nothing, which only widens the interval.
  return Number.isFinite(capital)
    ? capital >= needed(alpha)
    : isEnough(mixedCapital(stakeCapitals(evidence, side, d0, span), [], 0), alpha);
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

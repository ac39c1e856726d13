/** Within-context variance of credit (C3 section 5.4, figure 4; reference section 8.3). */

import { mean, populationVariance, sampleVariance } from '../credit/describe.ts';
import type { CreditEstimator } from '../credit/estimators.ts';
import type { Interval } from '../domain/credit.ts';
import { computeCredits, type DiagnosticBucket } from './bucket.ts';
import { bootstrapMean } from './statistics/bootstrap.ts';

/** population divides by the number of alternatives, like the paper's code; sample divides by one less. */
export type VarianceKind = 'population' | 'sample';

export interface WithinContextVariance {
  /**
   * Mean over contexts with a bootstrap interval over them; null if no context has two alternatives with
   * a credit. n counts contexts.
   */
  readonly value: Interval | null;
  /** Over contexts, with n - 1 in the denominator; null for fewer than two. */
  readonly standardDeviation: number | null;
  readonly standardError: number | null;
  /** Contexts left out because fewer than two alternatives have a credit. */
  readonly leftOut: number;
}

/**
 * Returns the variance of the credits of one context.
 * @returns null for fewer than two alternatives with a credit
 * @throws C3Error('input') for a return that is not finite
 */
export function contextVariance(
  bucket: DiagnosticBucket,
  estimator: CreditEstimator,
  kind: VarianceKind = 'population',
): number | null {
  const credits = computeCredits(bucket, estimator).filter((credit) => credit !== null);
  if (credits.length < 2) {
    return null;
  }
  return kind === 'population' ? populationVariance(credits) : sampleVariance(credits);
}

/** Returns the mean over contexts of contextVariance. */
export function measureWithinContextVariance(
  buckets: readonly DiagnosticBucket[],
  estimator: CreditEstimator,
  kind: VarianceKind = 'population',
  seed = 0,
): WithinContextVariance {
  const values = buckets.flatMap((bucket) => contextVariance(bucket, estimator, kind) ?? []);
  const deviation = sampleDeviation(values);
  return {
    value: bootstrapMean(values, seed),
    standardDeviation: deviation,
    standardError: deviation === null ? null : deviation / Math.sqrt(values.length),
    leftOut: buckets.length - values.length,
  };
}

/**
 * Returns the variance as the published code reports it: population variance, with 0 for a context
 * with fewer than two alternatives. Null without contexts.
 */
export function measurePublishedVariance(
  buckets: readonly DiagnosticBucket[],
  estimator: CreditEstimator,
): { readonly mean: number; readonly std: number; readonly stderr: number } | null {
  if (buckets.length === 0) {
    return null;
  }
  const values = buckets.map((bucket) => contextVariance(bucket, estimator) ?? 0);
  const std = sampleDeviation(values) ?? 0;
  return { mean: mean(values), std, stderr: std / Math.sqrt(values.length) };
}

function sampleDeviation(values: readonly number[]): number | null {
  const variance = sampleVariance(values);
  return variance === null ? null : Math.sqrt(variance);
}

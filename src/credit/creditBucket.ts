/** From the returns of a bucket's alternatives to credits with interval, n and cost. */
import { C3Error } from '../shared/errors.ts';
import type { Credit } from '../shared/records.ts';
import type { EstimatorName } from '../shared/runNames.ts';
import { aggregate, unmasked, type Aggregate, type Estimate } from './aggregate.ts';
import { fullMean } from './fullMean.ts';
import { differenceInterval } from './interval.ts';
import { samplesOfOthers } from './leftOut.ts';
import { leaveOneOut } from './loo.ts';

/** One alternative: the return of each replay, null where the evaluator failed, and the calls that they cost. */
export interface CreditInput {
  readonly returns: readonly (number | null)[];
  readonly evaluatorCalls: number;
}

export { ESTIMATORS, type EstimatorName } from '../shared/runNames.ts';

/** Whose credit is measured over single contexts: that of returns alone, or mappo's, whose baseline is in no return, so that its credits are taken as they are stored. */
export type ContextEstimator = EstimatorName | 'mappo';

/**
 * Baseline and credit of each alternative.
 * @returns in order; null for an alternative without an unmasked return
 */
export function estimate(alternatives: readonly Pick<Aggregate, 'mean' | 'count'>[], estimator: EstimatorName): (Estimate | null)[] {
  return estimator === 'loo' ? leaveOneOut(alternatives) : fullMean(alternatives);
}

/**
 * The credits of a bucket.
 *
 * The interval is that of the difference between the alternative's returns and the pooled returns of the others: Newcombe's where all returns
 * of the bucket are 0 or 1, Welch's otherwise. For leave-one-out this difference is the credit; the full-mean credit is the difference
 * times (C - c_j) / C, and so are its bounds. Pooling treats the others as one sample. A terminal role's alternative has a single
 * return: its interval is wide but defined for binary returns, and null otherwise. n and evaluatorCalls are those of the whole bucket,
 * since all of it stands behind each credit. A lone alternative has credit 0 and no interval.
 * @returns in order; null for an alternative without an unmasked return
 * @throws C3Error('input') for a return beyond MAX_RETURN or a wrong number of calls
 */
export function creditBucket(alternatives: readonly CreditInput[], estimator: EstimatorName): (Credit | null)[] {
  const samples = alternatives.map(({ returns }) => unmasked(returns));
  const n = samples.reduce((total, sample) => total + sample.length, 0);
  const evaluatorCalls = alternatives.reduce((total, { evaluatorCalls: calls }) => total + checkedCalls(calls), 0);
  const estimates = estimate(
    alternatives.map(({ returns }) => aggregate(returns)),
    estimator,
  );
  const others = samplesOfOthers(samples);
  return estimates.map((found, index) => {
    if (found === null) return null;
    const own = samples[index] ?? [];
    const interval = differenceInterval(own, others[index] ?? []);
    const scale = estimator === 'loo' ? 1 : (n - own.length) / n;
    const scaled = (bound: number | null): number | null => (bound === null ? null : bound * scale);
    return {
      estimator,
      value: found.credit,
      low: scaled(interval?.low ?? null),
      high: scaled(interval?.high ?? null),
      n,
      evaluatorCalls,
      interval: interval?.method ?? 'none',
    };
  });
}

function checkedCalls(calls: number): number {
  if (!Number.isSafeInteger(calls) || calls < 0) throw new C3Error('input', `An alternative cost ${calls} evaluator calls; give a whole number of at least 0.`);
  return calls;
}

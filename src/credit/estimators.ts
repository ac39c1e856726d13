/** Every estimator by its name, with the interval that its baseline allows. One file beside this holds each formula. */
import { C3Error } from '../shared/errors.ts';
import type { Credit } from '../shared/records.ts';
import { aggregate, unmasked, type Aggregate, type Estimate } from './aggregate.ts';
import { creditBucket, estimate, type CreditInput } from './creditBucket.ts';
import { differenceInterval, meanInterval, weightedDifferenceInterval, type DifferenceInterval } from './interval.ts';
import { samplesOfOthers, type Sample } from './leftOut.ts';
import { episodeLeaveOneOut, episodeMean } from './magrpo.ts';
import { againstValue } from './mappo.ts';
import { valueAssisted, valueOnly, type ValuedAlternative } from './valueAssisted.ts';

/**
 * loo: C3. full_mean: C3 without leave-one-out. magrpo, magrpo_rloo: whole episodes against their group, every return an episode.
 * mappo: against the context's value. value_assisted, value_only: C3 with, or only, a value of each alternative.
 */
export const CREDIT_ESTIMATORS = ['loo', 'full_mean', 'magrpo', 'magrpo_rloo', 'mappo', 'value_assisted', 'value_only'] as const;
export type CreditEstimator = (typeof CREDIT_ESTIMATORS)[number];

/** Alternatives of one context, or episodes of one instance, with what learned values some estimators take. */
export interface CreditGroup {
  readonly alternatives: readonly (CreditInput & {
    /** q(h, a_j), for value_assisted and value_only. */
    readonly value?: number | undefined;
  })[];
  /** V(h), for mappo. */
  readonly value?: number | undefined;
  /** The weight of the values in value_assisted; 1, the published default, unless given. */
  readonly alpha?: number | undefined;
}

/**
 * Baseline and credit of each alternative.
 * @returns in order; null for an alternative without an unmasked return
 * @throws C3Error('input') for a value that the estimator needs and does not find, or a number that is not finite
 */
export function estimateGroup(group: CreditGroup, estimator: CreditEstimator): (Estimate | null)[] {
  const aggregates = group.alternatives.map(({ returns }) => aggregate(returns));
  switch (estimator) {
    case 'loo':
    case 'full_mean':
      return estimate(aggregates, estimator);
    case 'magrpo':
      return episodeMean(aggregates);
    case 'magrpo_rloo':
      return episodeLeaveOneOut(aggregates);
    case 'mappo':
      return againstValue(aggregates, contextValue(group));
    case 'value_assisted':
      return valueAssisted(valued(group, aggregates), group.alpha ?? 1);
    case 'value_only':
      return valueOnly(valued(group, aggregates)).map((found, index) => ((aggregates[index]?.count ?? 0) === 0 ? null : found));
  }
}

/**
 * The credits of a group with interval, n and cost; loo and full_mean as creditBucket gives them.
 *
 * magrpo and magrpo_rloo are the difference between an alternative's episodes and the others' times (C - c_j) / C and (C - c_j) / (C - 1),
 * and so are its bounds. Against a learned value, which is taken as known, the interval is that of the alternative's mean return, shifted;
 * value_assisted lies between that and leave-one-out. value_only holds no return, so its interval cannot be estimated.
 * @returns in order; null for an alternative without an unmasked return
 * @throws C3Error('input') as estimateGroup and creditBucket do
 */
export function creditGroup(group: CreditGroup, estimator: CreditEstimator): (Credit | null)[] {
  if (estimator === 'loo' || estimator === 'full_mean') return creditBucket(group.alternatives, estimator);
  // For its check of the calls, and what they and the returns come to.
  const [shared] = creditBucket(group.alternatives, 'loo').filter((credit) => credit !== null);
  const samples = group.alternatives.map(({ returns }) => unmasked(returns));
  const others = samplesOfOthers(samples);
  return estimateGroup(group, estimator).map((found, index) => {
    if (found === null || shared === undefined) return null;
    const { low, high, method } = boundsOf(found.credit, samples[index] ?? [], others[index] ?? [], estimator, group.alpha ?? 1);
    return { estimator, value: found.credit, low, high, n: shared.n, evaluatorCalls: shared.evaluatorCalls, interval: method };
  });
}

type Bounds = Pick<DifferenceInterval, 'low' | 'high' | 'method'>;

const NO_BOUNDS: Bounds = { low: null, high: null, method: 'none' };

function boundsOf(credit: number, own: readonly number[], others: Sample, estimator: Exclude<CreditEstimator, 'loo' | 'full_mean'>, alpha: number): Bounds {
  const n = 'n' in others ? others.n : others.length;
  switch (estimator) {
    case 'magrpo':
      return scaled(differenceInterval(own, others), n / (own.length + n));
    case 'magrpo_rloo':
      return scaled(differenceInterval(own, others), n / (own.length + n - 1));
    case 'mappo':
      return shifted(meanInterval(own), credit);
    case 'value_assisted':
      return shifted(weightedDifferenceInterval(own, others, 1 - alpha), credit);
    case 'value_only':
      return NO_BOUNDS;
  }
}

function scaled(interval: DifferenceInterval | null, factor: number): Bounds {
  if (interval === null || interval.low === null || interval.high === null) return NO_BOUNDS;
  return { low: interval.low * factor, high: interval.high * factor, method: interval.method };
}

/** The interval about the credit instead of about its own value. */
function shifted(interval: DifferenceInterval | null, credit: number): Bounds {
  if (interval === null || interval.low === null || interval.high === null) return NO_BOUNDS;
  const by = credit - interval.value;
  return { low: interval.low + by, high: interval.high + by, method: interval.method };
}

function contextValue({ value }: CreditGroup): number {
  if (value === undefined) throw new C3Error('input', 'mappo needs the value of the context: give "value" beside "alternatives".');
  return value;
}

function valued({ alternatives }: CreditGroup, aggregates: readonly Aggregate[]): ValuedAlternative[] {
  return alternatives.map(({ value }, index) => {
    if (value === undefined) throw new C3Error('input', `Alternative ${index} has no value, which value_assisted and value_only need; give "value" beside its "returns".`);
    const { mean, count } = aggregates[index] ?? { mean: null, count: 0 };
    return { mean, count, value };
  });
}

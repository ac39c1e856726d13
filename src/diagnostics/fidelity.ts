/** Fidelity: the rank agreement of credit with the value of messages (C3 appendix I; reference section 8.3). */

import { unmasked } from '../credit/aggregate.ts';
import { requireEstimator, type CreditEstimator } from '../credit/estimators.ts';
import type { Interval } from '../domain/credit.ts';
import {
  listCreditedAlternatives,
  listValueSamples,
  type DiagnosticAlternative,
  type DiagnosticBucket,
} from './bucket.ts';
import { bootstrap } from './statistics/bootstrap.ts';
import { spearman, type Pair } from './statistics/rank.ts';
import { pairwiseSum } from './statistics/summation.ts';

export interface Fidelity {
  /**
   * Over the messages that were really said, one of each context; null if it cannot be estimated. n
   * counts contexts.
   */
  readonly real: Interval | null;
  /** Over every credited alternative; n counts contexts, which the interval resamples. */
  readonly all: Interval | null;
  /** The reason in one sentence why it cannot be estimated, or null if it can. */
  readonly degenerate: string | null;
  readonly pairs: { readonly real: number; readonly all: number };
  /** Contexts left out because they have no independent value samples. */
  readonly withoutValue: number;
}

/** The (credit, target) pairs of one context. */
interface ContextPairs {
  readonly real: Pair | null;
  readonly all: readonly Pair[];
}

const NO_VALUE_SAMPLES =
  'No context has value samples of its own: against a value taken from the same alternatives leave-one-out credit is n/(n-1) times the target, so the rank correlation would be 1 whatever the credit is worth. Sample some with `c3 diagnose --sample`.';
const NO_STORED_CREDIT =
  'No alternative has its credit stored, and the value head that is its baseline is not in the returns. Sample contexts anew with `c3 diagnose --sample`.';
const CONSTANT = 'All credits or all targets are equal, which leaves nothing to rank.';
const TOO_FEW = 'Fewer than two pairs of a credit and its target.';

/**
 * Returns Spearman's correlation of credit A_j and target Delta_j = R_j - V(h), with V from
 * independent value samples alone, pooled over contexts. The interval is a bootstrap over contexts,
 * which keeps the alternatives of a context together.
 * @throws C3Error('input') for a return that is not finite
 */
export function measureFidelity(buckets: readonly DiagnosticBucket[], estimator: CreditEstimator, seed = 0): Fidelity {
  const contexts = buckets.flatMap((bucket) => pairCreditsWithTargets(bucket, estimator, 'samples') ?? []);
  const reals = contexts.flatMap(({ real }) => (real === null ? [] : [real]));
  const counts = { real: reals.length, all: contexts.reduce((total, { all }) => total + all.length, 0) };
  const found = {
    real: bootstrap(reals, (drawn) => spearman(drawn), seed),
    all: bootstrap(
      contexts,
      (drawn) => spearman(drawn.flatMap(({ all }) => all)),
      seed,
      ({ all }) => all.length,
    ),
  };
  const degenerate =
    found.all !== null
      ? null
      : contexts.length === 0
        ? NO_VALUE_SAMPLES
        : counts.all === 0 && requireEstimator(estimator).diagnosed === 'stored'
          ? NO_STORED_CREDIT
          : counts.all < 2
            ? TOO_FEW
            : CONSTANT;
  return { ...found, degenerate, pairs: counts, withoutValue: buckets.length - contexts.length };
}

/**
 * Returns fidelity as the published code computes it. V comes from a bucket's value samples if
 * `valueSamples` is true and there are some, else from the credited alternatives themselves. Undefined
 * correlations are 0. Without value samples fidelity is 1 by construction.
 * @returns `real` is null if a bucket's real action is not among the credited ones, which the
 *   published code refuses
 */
export function measurePublishedFidelity(
  buckets: readonly DiagnosticBucket[],
  estimator: CreditEstimator,
  valueSamples: boolean,
): { readonly real: number | null; readonly all: number } {
  const contexts = buckets.flatMap(
    (bucket) => pairCreditsWithTargets(bucket, estimator, valueSamples ? 'published' : 'credited') ?? [],
  );
  const reals = contexts.flatMap(({ real }) => (real === null ? [] : [real]));
  return {
    real: reals.length < contexts.length ? null : (spearman(reals) ?? 0),
    all: spearman(contexts.flatMap(({ all }) => all)) ?? 0,
  };
}

/**
 * Returns the pairs of one context.
 * @param source `samples`: V only from value samples; `credited`: from the alternatives themselves;
 *   `published`: from samples, else from the alternatives
 */
function pairCreditsWithTargets(
  bucket: DiagnosticBucket,
  estimator: CreditEstimator,
  source: 'samples' | 'credited' | 'published',
): ContextPairs | null {
  const { diagnosed } = requireEstimator(estimator);
  const alternatives = listCreditedAlternatives(bucket);
  const credited = alternatives.map(averageReturns);
  const known = credited.filter((one) => one !== null);
  const own = weightedMean(known);
  const sampled = weightedMean(
    listValueSamples(bucket)
      .map(averageReturns)
      .filter((one) => one !== null),
  );
  const value = source === 'samples' ? sampled : source === 'credited' ? own : (sampled ?? own);
  if (value === null || own === null) {
    return null;
  }
  const total = {
    weight: pairwiseSum(known.map(({ weight }) => weight)),
    weighted: pairwiseSum(known.map(({ weight, mean }) => weight * mean)),
  };
  const creditOf = (one: Measured, { credit }: DiagnosticAlternative): number | null => {
    if (diagnosed === 'stored') {
      return credit;
    }
    const others = total.weight - one.weight;
    const leftOut = others > 0 ? (total.weighted - one.weight * one.mean) / others : one.mean;
    return one.mean - (diagnosed === 'loo' ? leftOut : own);
  };
  const pairs = alternatives.map((alternative, index): Pair | null => {
    const one = credited[index] ?? null;
    const credit = one === null ? null : creditOf(one, alternative);
    return one === null || credit === null ? null : [credit, one.mean - value];
  });
  return {
    real: bucket.real === null ? null : (pairs[bucket.real] ?? null),
    all: pairs.filter((pair) => pair !== null),
  };
}

interface Measured {
  readonly mean: number;
  readonly weight: number;
}

// This computes credit in the published order of operations instead of calling src/credit, because
// rounding that breaks a tie in another way changes ranks.
function averageReturns({ returns }: DiagnosticAlternative): Measured | null {
  const kept = unmasked(returns);
  return kept.length === 0 ? null : { mean: pairwiseSum(kept) / kept.length, weight: kept.length };
}

/** Returns the mean return weighted by counts, or null without returns. */
function weightedMean(measured: readonly Measured[]): number | null {
  return measured.length === 0
    ? null
    : pairwiseSum(measured.map(({ mean, weight }) => mean * weight)) /
        pairwiseSum(measured.map(({ weight }) => weight));
}

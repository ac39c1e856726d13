/** Sorts buckets into the paper's four failure classes (C3 appendix N), each case with the numbers that decided. */
import { aggregate, unmasked } from '../credit/aggregate.ts';
import { mean, sampleVariance, squaredDeviations } from '../credit/describe.ts';
import { differenceInterval } from '../credit/interval.ts';
import { fUpperTail } from '../credit/studentT.ts';
import type { Alternative, BucketView } from '../shared/records/records.ts';
import {
  ALL_SUCCEEDED,
  TAXONOMY_CLASSES,
  TAXONOMY_THRESHOLDS,
  type TaxonomyClass,
  type TaxonomyThresholds,
  UNCLASSIFIED,
  type VerdictName,
} from '../shared/records/taxonomy.ts';

/** What the classes are decided on; a BucketView with its question and whether its role is terminal will do. */
export interface TaxonomyBucket extends Pick<BucketView, 'id' | 'message' | 'eventType'> {
  readonly question: string;
  /** True where no scored message lies downstream of the bucket's role. */
  readonly terminal: boolean;
  /** The return of an episode whose every scored message succeeds. */
  readonly fullReturn: number;
  /** In index order. The real action is the one marked original, the first where none is. */
  readonly alternatives: readonly Pick<Alternative, 'decision' | 'original' | 'returns' | 'evaluatorCalls'>[];
}

/** So that 0.8 - 0.6 is not greater than 0.2. */
const ROUNDING = 1e-9;
const LISTED_MEANS = 12;

interface Measured {
  readonly real: boolean;
  readonly returns: readonly number[];
  readonly mean: number;
}

export interface Verdict {
  readonly name: VerdictName;
  /**
   * What decided, with its numbers; for an unclassified bucket, why no rule holds. Worked out when asked for: thousands
   * of verdicts are counted, few are shown.
   */
  readonly reason: () => string;
}

/** What the rules look at in a bucket, whatever the thresholds; worked out once. */
export interface BucketStudy<B extends TaxonomyBucket = TaxonomyBucket> {
  readonly bucket: B;
  /** Alternatives with a return that was not masked. */
  readonly measured: readonly Measured[];
  /** Whether there are returns, and all of them are full successes. */
  readonly succeeded: boolean;
  /** Null for fewer than two of them. */
  readonly compared: Comparison | null;
}

interface Comparison {
  readonly best: Measured;
  /** Undefined where the real message has no return. */
  readonly real: Measured | undefined;
  /** Greatest return - smallest. */
  readonly range: number;
  /** Null where an alternative has fewer than two returns. */
  readonly variance: Variance | null;
}

/** One-way analysis of variance of the returns by alternative. */
interface Variance {
  readonly within: number;
  readonly between: number;
  /** Null where the spread within does not exceed that of the means, so that no test is needed. */
  readonly p: number | null;
  readonly test: string;
}

/** @throws C3Error('input') for a return that is not finite */
export function studyBucket<B extends TaxonomyBucket>(bucket: B): BucketStudy<B> {
  const measured = measure(bucket);
  const [first, ...rest] = measured;
  const returns = measured.flatMap((alternative) => alternative.returns);
  const succeeded = returns.length > 0 && returns.every((value) => value >= bucket.fullReturn - ROUNDING);
  if (first === undefined || rest.length === 0) {
    return { bucket, measured, succeeded, compared: null };
  }
  return {
    bucket,
    measured,
    succeeded,
    compared: {
      best: rest.reduce((a, b) => (b.mean > a.mean ? b : a), first),
      real: measured.find((alternative) => alternative.real),
      range: returns.reduce((a, b) => Math.max(a, b)) - returns.reduce((a, b) => Math.min(a, b)),
      variance: measured.some((alternative) => alternative.returns.length < 2) ? null : varianceOf(measured, returns),
    },
  };
}

/**
 * Gives a bucket at most one class. Masked returns are left out, and so is an alternative without any other; a bucket
 * with fewer than two alternatives left, or one that fits no class, stays unclassified. A bucket in which everything
 * measured is a full success is no failure and gets no class, whatever the thresholds. Otherwise the first rule that
 * holds decides:
 *
 * 1. Misleading Plan, tested first because failing alike is no ambiguity of the evaluator: the role has scored roles
 *    downstream and the best mean return is below `misleading`: whatever is done with any of its plans fails.
 * 2. Evaluator Ambiguity: all returns, within and between alternatives, lie closer together than `ambiguity`.
 * 3. Successful Credit Shift: the best mean return exceeds the real action's by more than `shift`.
 * 4. Over-Coupling: every alternative has at least two returns, the variance within alternatives is greater than that
 *    of their means, and an F test (one-way analysis of variance) at the level `significance` does not separate
 *    the alternatives.
 */
export function classifyStudy(
  { bucket, measured, succeeded, compared }: BucketStudy,
  thresholds: TaxonomyThresholds = TAXONOMY_THRESHOLDS,
): Verdict {
  if (succeeded) {
    return { name: ALL_SUCCEEDED, reason: () => `every measured return reaches ${show(bucket.fullReturn)}` };
  }
  if (compared === null) {
    return {
      name: UNCLASSIFIED,
      reason: () => `${measured.length === 0 ? 'no alternative has' : 'only one alternative has'} a return`,
    };
  }
  const { best, real, range, variance } = compared;
  if (!bucket.terminal && best.mean < thresholds.misleading - ROUNDING) {
    return {
      name: 'Misleading Plan',
      reason: () =>
        `best mean return ${show(best.mean)} (n=${best.returns.length}) < ${thresholds.misleading}, with scored roles downstream`,
    };
  }
  if (range < thresholds.ambiguity - ROUNDING) {
    return {
      name: 'Evaluator Ambiguity',
      reason: () => `all returns lie within ${show(range)} < ${thresholds.ambiguity}`,
    };
  }
  if (real !== undefined && best.mean - real.mean > thresholds.shift + ROUNDING) {
    return { name: 'Successful Credit Shift', reason: () => shiftReason(best, real, thresholds) };
  }
  if (variance !== null && variance.p !== null && variance.p >= thresholds.significance) {
    return {
      name: 'Over-Coupling',
      reason: () =>
        `variance within alternatives ${show(variance.within)} > variance of their means ${show(variance.between)}, ${variance.test}`,
    };
  }
  return {
    name: UNCLASSIFIED,
    reason: () => `${unshiftedReason(best, real, thresholds)}, and ${uncoupledReason(variance, thresholds)}`,
  };
}

/** The evidence of a verdict in one sentence: what decided, then the returns, what they cost, and the means. */
export function evidenceOf(bucket: TaxonomyBucket, { reason }: Verdict): string {
  return `${reason()}; ${describe(bucket)}.`;
}

/**
 * The message that a case is about: the one that was clicked, else the real one; null in a bucket that is still empty.
 */
export function messageOfCase(bucket: Pick<TaxonomyBucket, 'message' | 'alternatives'>): number | null {
  return bucket.message ?? realOf(bucket)?.decision ?? null;
}

/**
 * The four classes in their order, cases in the order of the buckets.
 * @throws C3Error('input') for a return that is not finite
 */
export function classifyBuckets(
  buckets: readonly TaxonomyBucket[],
  thresholds: TaxonomyThresholds = TAXONOMY_THRESHOLDS,
): TaxonomyClass[] {
  const verdicts = buckets.map((bucket) => ({ bucket, verdict: classifyStudy(studyBucket(bucket), thresholds) }));
  return TAXONOMY_CLASSES.map((name) => {
    const cases = verdicts.flatMap(({ bucket, verdict }) => {
      const message = messageOfCase(bucket);
      if (verdict.name !== name || message === null) {
        return [];
      }
      return [
        {
          bucket: bucket.id,
          message,
          eventType: bucket.eventType,
          question: bucket.question,
          evidence: evidenceOf(bucket, verdict),
        },
      ];
    });
    return { name, count: cases.length, cases };
  });
}

function realOf(bucket: Pick<TaxonomyBucket, 'alternatives'>): TaxonomyBucket['alternatives'][number] | undefined {
  return bucket.alternatives.find((alternative) => alternative.original) ?? bucket.alternatives[0];
}

function measure(bucket: TaxonomyBucket): Measured[] {
  const real = realOf(bucket);
  return bucket.alternatives.flatMap((alternative) => {
    const returns = unmasked(alternative.returns);
    return returns.length === 0 ? [] : [{ real: alternative === real, returns, mean: mean(returns) }];
  });
}

function shiftReason(best: Measured, real: Measured, { shift }: TaxonomyThresholds): string {
  const interval = differenceInterval(best.returns, real.returns);
  const bounds =
    interval === null || interval.low === null || interval.high === null
      ? 'interval not measured'
      : `95 % interval ${show(interval.low)} to ${show(interval.high)} (${interval.method})`;
  return `best ${show(best.mean)} (n=${best.returns.length}) - real ${show(real.mean)} (n=${real.returns.length}) = ${show(best.mean - real.mean)} > ${shift}, ${bounds}`;
}

function unshiftedReason(best: Measured, real: Measured | undefined, { shift }: TaxonomyThresholds): string {
  return real === undefined
    ? 'the real message has no return'
    : `best ${show(best.mean)} - real ${show(real.mean)} = ${show(best.mean - real.mean)} is not > ${shift}`;
}

function uncoupledReason(variance: Variance | null, { significance }: TaxonomyThresholds): string {
  if (variance === null) {
    return 'not every alternative has two returns';
  }
  if (variance.p === null) {
    return `variance within alternatives ${show(variance.within)} is not > variance of their means ${show(variance.between)}`;
  }
  return `the alternatives differ, ${variance.test} < ${significance}`;
}

function varianceOf(measured: readonly Measured[], returns: readonly number[]): Variance {
  const degreesBetween = measured.length - 1;
  const degreesWithin = returns.length - measured.length;
  const within = measured.reduce((sum, alternative) => sum + squaredDeviations(alternative.returns), 0) / degreesWithin;
  const between = sampleVariance(measured.map((alternative) => alternative.mean)) ?? 0;
  if (within <= between) {
    return { within, between, p: null, test: '' };
  }
  const overall = mean(returns);
  const explained = measured.reduce(
    (sum, alternative) => sum + alternative.returns.length * (alternative.mean - overall) ** 2,
    0,
  );
  const ratio = explained / degreesBetween / within;
  const p = fUpperTail(ratio, degreesBetween, degreesWithin);
  return { within, between, p, test: `F(${degreesBetween},${degreesWithin})=${show(ratio)}, p=${show(p)}` };
}

/** The numbers behind every verdict: how many returns, what they cost, and the means. */
function describe(bucket: TaxonomyBucket): string {
  const real = realOf(bucket);
  const aggregates = bucket.alternatives.map(({ returns }) => aggregate(returns));
  const means = bucket.alternatives.slice(0, LISTED_MEANS).map((alternative) => {
    const { mean: value } = aggregate(alternative.returns);
    return `${value === null ? 'not measured' : show(value)}${alternative === real ? ' (real)' : ''}`;
  });
  const more = bucket.alternatives.length - means.length;
  const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
  const masked = sum(aggregates.map((one) => one.masked));
  return (
    `n=${sum(aggregates.map((one) => one.count))} returns of ${bucket.alternatives.length} alternatives` +
    `${masked === 0 ? '' : `, ${masked} masked`}, ${sum(bucket.alternatives.map((one) => one.evaluatorCalls))} evaluator calls` +
    `; mean returns ${means.join(', ')}${more === 0 ? '' : ` and ${more} more`}`
  );
}

function show(value: number): string {
  return String(Number(value.toFixed(3)));
}

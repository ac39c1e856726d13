/** Classifies buckets into the paper's four failure classes (C3 appendix N), with the deciding numbers of each case. */

import { aggregate, unmasked } from '../credit/aggregate.ts';
import { mean, sampleVariance, squaredDeviations } from '../credit/describe.ts';
import { differenceInterval } from '../credit/interval.ts';
import { fUpperTail } from '../credit/studentT.ts';
import type { Alternative, BucketView } from '../domain/replay.ts';
import {
  ALL_SUCCEEDED,
  PRECEDENCE,
  TAXONOMY_THRESHOLDS,
  UNCLASSIFIED,
  type TaxonomyCase,
  type TaxonomyClassName,
  type TaxonomyThresholds,
  type UnmeasuredClasses,
  type VerdictName,
} from '../domain/taxonomy.ts';
import { isSolved } from '../shared/credit/returns.ts';
import { formatCounted } from '../shared/text/words.ts';

/** The input of the classification: a BucketView with its question, its full return, and `terminal`. */
export interface TaxonomyBucket extends Pick<BucketView, 'id' | 'message' | 'role'> {
  readonly question: string;
  /** True if no scored message lies downstream of the bucket's role. */
  readonly terminal: boolean;
  /** The return of an episode whose every scored message succeeds. */
  readonly fullReturn: number;
  /** In index order. The real action is the one marked original, or else the first. */
  readonly alternatives: readonly Pick<Alternative, 'message' | 'original' | 'returns' | 'evaluatorCalls'>[];
}

/** Tolerance, so that 0.8 - 0.6 is not greater than 0.2. */
const ROUNDING = 1e-9;
const LISTED_MEANS = 12;

/** An alternative with a return that was not masked. */
export interface Measured {
  readonly real: boolean;
  /** By replay; null if it was masked. */
  readonly all: readonly (number | null)[];
  readonly returns: readonly number[];
  readonly mean: number;
}

export interface Verdict {
  readonly name: VerdictName;
  /**
   * Returns the deciding facts with their numbers; for an unclassified bucket, the reason why no rule
   * holds. It is computed on demand, because thousands of verdicts are counted and few are shown.
   */
  readonly reason: () => string;
}

/** The facts of a bucket that the rules use with any thresholds, computed once. */
export interface BucketStudy<B extends TaxonomyBucket = TaxonomyBucket> {
  readonly bucket: B;
  /** Alternatives with a return that was not masked. */
  readonly measured: readonly Measured[];
  /** True if there are returns and all of them are full successes. */
  readonly succeeded: boolean;
  /** Null for fewer than two measured alternatives. */
  readonly compared: Comparison | null;
}

export interface Comparison {
  readonly best: Measured;
  /** Undefined if the real message has no return. */
  readonly real: Measured | undefined;
  /** Null if it cannot be estimated. */
  readonly shift: Shift | null;
  /** Greatest return minus the smallest. */
  readonly range: number;
  /** Null if an alternative has fewer than two returns. */
  readonly variance: Variance | null;
}

/**
 * The difference between the best alternative and the real one. The best of some looks better than it
 * is in the returns that selected it. One half of the replays, those of even or of odd index,
 * therefore selects it, and the other half compares it; the value is the mean over both ways (sample
 * splitting; Cox, Biometrika 62, 1975). A terminal message has the return of its text, which is not a
 * draw, so its returns are not split.
 */
export interface Shift {
  readonly value: number;
  /** For each selecting half: the returns of both alternatives in the other half. */
  readonly ways: readonly Way[];
}

interface Way {
  readonly best: readonly number[];
  readonly real: readonly number[];
}

/** One-way analysis of variance of the returns by alternative. */
export interface Variance {
  readonly within: number;
  readonly between: number;
  /** Null if the spread within does not exceed that of the means, so that no test is needed. */
  readonly p: number | null;
  readonly test: string;
}

/** The numbers that the rules use. */
export interface BucketFacts {
  readonly bucket: Pick<TaxonomyBucket, 'terminal'>;
  readonly succeeded: boolean;
  readonly compared: {
    readonly best: Pick<Measured, 'mean'>;
    readonly range: number;
    readonly shift: Pick<Shift, 'value'> | null;
    readonly variance: Pick<Variance, 'p'> | null;
  } | null;
}

/** Computes the facts of a bucket. @throws C3Error('input') for a return that is not finite */
export function studyBucket<B extends TaxonomyBucket>(bucket: B): BucketStudy<B> {
  const measured = measureAlternatives(bucket);
  const returns = measured.flatMap((alternative) => alternative.returns);
  const succeeded = returns.length > 0 && returns.every((value) => isSolved(value, bucket.fullReturn));
  return { bucket, measured, succeeded, compared: compareAlternatives(measured, bucket.terminal) };
}

/** Compares the alternatives of a bucket. @returns null for fewer than two */
export function compareAlternatives(measured: readonly Measured[], terminal: boolean): Comparison | null {
  const [first, ...rest] = measured;
  if (first === undefined || rest.length === 0) {
    return null;
  }
  const returns = measured.flatMap((alternative) => alternative.returns);
  const real = measured.find((alternative) => alternative.real);
  return {
    best: findBest(measured, ({ mean: value }) => value) ?? first,
    real,
    shift: real === undefined ? null : measureShift(measured, real, terminal),
    range: returns.reduce((a, b) => Math.max(a, b)) - returns.reduce((a, b) => Math.min(a, b)),
    variance: measured.some((alternative) => alternative.returns.length < 2)
      ? null
      : analyzeVariance(measured, returns),
  };
}

/** Returns the first alternative with the highest value. @returns null if none has one */
function findBest(measured: readonly Measured[], valueOf: (one: Measured) => number | null): Measured | null {
  let best: Measured | null = null;
  let highest = -Infinity;
  for (const one of measured) {
    const value = valueOf(one);
    if (value !== null && value > highest) {
      [best, highest] = [one, value];
    }
  }
  return best;
}

function measureShift(measured: readonly Measured[], real: Measured, terminal: boolean): Shift | null {
  const ways = terminal
    ? [{ best: findBest(measured, ({ mean: value }) => value)?.returns ?? [], real: real.returns }]
    : ([0, 1] as const).flatMap((chooser): Way[] => {
        const best = findBest(measured, (one) => meanOrNull(takeHalf(one, chooser)));
        const way = { best: best === null ? [] : takeHalf(best, 1 - chooser), real: takeHalf(real, 1 - chooser) };
        return way.best.length === 0 || way.real.length === 0 ? [] : [way];
      });
  return ways.length === 0 ? null : { value: mean(ways.map((way) => mean(way.best) - mean(way.real))), ways };
}

/**
 * Returns the returns of every second replay. @param parity 0 for the first, the third and so on; 1
 * for the others
 */
const takeHalf = ({ all }: Measured, parity: number): number[] =>
  all.filter((value, index): value is number => value !== null && index % 2 === parity);

const meanOrNull = (values: readonly number[]): number | null => (values.length === 0 ? null : mean(values));

/**
 * Gives a bucket at most one class. Masked returns are left out, and so are alternatives without any
 * other return. A bucket with fewer than two remaining alternatives, or one that fits no class, stays
 * unclassified. A bucket whose measured returns are all full successes is no failure and gets no class
 * with any thresholds. Otherwise the first rule that holds decides:
 *
 * 1. Misleading Plan, tested first because equal failures are no ambiguity of the evaluator: the role has scored roles
 *    downstream and the best mean return is below `misleading`, so that every continuation of any of its plans fails.
 * 2. Evaluator Ambiguity: all returns, within and between alternatives, differ by less than `ambiguity`.
 * 3. Successful Credit Shift: the mean return of the best, selected on one half of its replays and estimated on the
 *    other, exceeds the real action's by more than `shift`.
 * 4. Over-Coupling: every alternative has at least two returns, the variance within alternatives is greater than that
 *    of their means, and an F test (one-way analysis of variance) at the level `significance` does not separate the
 *    alternatives.
 */
export function classifyFacts(
  { bucket, succeeded, compared }: BucketFacts,
  thresholds: TaxonomyThresholds,
): VerdictName {
  if (succeeded) {
    return ALL_SUCCEEDED;
  }
  if (compared === null) {
    return UNCLASSIFIED;
  }
  const { best, range, shift, variance } = compared;
  if (!bucket.terminal && best.mean < thresholds.misleading - ROUNDING) {
    return 'Misleading Plan';
  }
  if (range < thresholds.ambiguity - ROUNDING) {
    return 'Evaluator Ambiguity';
  }
  if (shift !== null && shift.value > thresholds.shift + ROUNDING) {
    return 'Successful Credit Shift';
  }
  const p = variance?.p ?? null;
  return p !== null && p >= thresholds.significance ? 'Over-Coupling' : UNCLASSIFIED;
}

/** Returns the verdict on a bucket, with its reason. */
export function classifyStudy(study: BucketStudy, thresholds: TaxonomyThresholds = TAXONOMY_THRESHOLDS): Verdict {
  const name = classifyFacts(study, thresholds);
  return { name, reason: () => describeVerdictReason(name, study, thresholds) };
}

function describeVerdictReason(
  name: VerdictName,
  { bucket, measured, compared }: BucketStudy,
  thresholds: TaxonomyThresholds,
): string {
  if (name === ALL_SUCCEEDED) {
    return `every measured return reaches ${formatThreeDecimals(bucket.fullReturn)}`;
  }
  if (compared === null) {
    return `${measured.length === 0 ? 'no alternative has' : 'only one alternative has'} a return`;
  }
  const { best, range, variance } = compared;
  switch (name) {
    case 'Misleading Plan':
      return `best mean return ${formatThreeDecimals(best.mean)} (n=${best.returns.length}) < ${thresholds.misleading}, with scored roles downstream`;
    case 'Evaluator Ambiguity':
      return `all returns lie within ${formatThreeDecimals(range)} < ${thresholds.ambiguity}`;
    case 'Successful Credit Shift':
      return describeShift(compared, bucket.terminal, thresholds);
    case 'Over-Coupling':
      return `variance within alternatives ${formatThreeDecimals(variance?.within ?? NaN)} > variance of their means ${formatThreeDecimals(variance?.between ?? NaN)}, ${variance?.test ?? ''}`;
    case UNCLASSIFIED:
      return `${describeMissingShift(compared, thresholds)}, and ${describeMissingCoupling(variance, thresholds)}`;
  }
}

/** Returns what the returns of the buckets cannot decide. A class that it names has no bucket, but is not absent. */
export function findUnmeasured(studies: readonly Pick<BucketStudy, 'compared'>[]): UnmeasuredClasses {
  const all = studies.flatMap(({ compared }) => compared ?? []);
  const measured: Readonly<Record<TaxonomyClassName, boolean>> = {
    'Misleading Plan': all.length > 0,
    'Evaluator Ambiguity': all.length > 0,
    'Successful Credit Shift': all.some(({ shift }) => shift !== null),
    'Over-Coupling': all.some(({ variance }) => variance !== null),
  };
  return { alone: studies.length - all.length, classes: PRECEDENCE.filter((name) => !measured[name]) };
}

/** Describes the evidence of a verdict: the reason, then the returns, their cost, and the means. */
export function describeEvidence(bucket: TaxonomyBucket, { reason }: Verdict): string {
  return `${reason()}; ${describeReturns(bucket)}.`;
}

/**
 * Returns the message that a case is about: the clicked one, or else the real one; null in a bucket
 * that is still empty.
 */
export function findCaseMessage(bucket: Pick<TaxonomyBucket, 'message' | 'alternatives'>): number | null {
  return bucket.message ?? findRealAlternative(bucket)?.message ?? null;
}

/** Returns the cases of a verdict, in the order of the buckets, without buckets that are still empty. */
export function listCases(
  name: VerdictName,
  classified: readonly { readonly bucket: TaxonomyBucket; readonly verdict: Verdict }[],
): TaxonomyCase[] {
  return classified.flatMap(({ bucket, verdict }) => {
    const message = findCaseMessage(bucket);
    const { id, role, question } = bucket;
    return verdict.name !== name || message === null
      ? []
      : [{ bucket: id, message, role, question, evidence: describeEvidence(bucket, verdict) }];
  });
}

/** Returns the message that was really said: the one that is marked original, or else the first. */
export function findRealAlternative(
  bucket: Pick<TaxonomyBucket, 'alternatives'>,
): TaxonomyBucket['alternatives'][number] | undefined {
  return bucket.alternatives.find((alternative) => alternative.original) ?? bucket.alternatives[0];
}

function measureAlternatives(bucket: TaxonomyBucket): Measured[] {
  const real = findRealAlternative(bucket);
  return bucket.alternatives.flatMap((alternative) => {
    const returns = unmasked(alternative.returns);
    return returns.length === 0
      ? []
      : [{ real: alternative === real, all: alternative.returns, returns, mean: mean(returns) }];
  });
}

function describeShift({ shift }: Comparison, terminal: boolean, thresholds: TaxonomyThresholds): string {
  const { value, ways } = shift ?? { value: NaN, ways: [] };
  const [best, real] = [ways.flatMap((way) => way.best), ways.flatMap((way) => way.real)];
  const interval = differenceInterval(best, real);
  const bounds =
    interval === null || interval.low === null || interval.high === null
      ? 'interval not measured'
      : `95 % interval ${formatThreeDecimals(interval.low)} to ${formatThreeDecimals(interval.high)} (${interval.method})`;
  const how = terminal ? '' : ', the best chosen on other replays';
  return `best ${formatThreeDecimals(mean(best))} (n=${best.length}) - real ${formatThreeDecimals(mean(real))} (n=${real.length}) = ${formatThreeDecimals(value)} > ${thresholds.shift}${how}, ${bounds}`;
}

function describeMissingShift({ real, shift }: Comparison, thresholds: TaxonomyThresholds): string {
  if (real === undefined) {
    return 'the real message has no return';
  }
  return shift === null
    ? 'the best and the real message have too few replays to choose on some and compare on others'
    : `best - real = ${formatThreeDecimals(shift.value)} is not > ${thresholds.shift}`;
}

function describeMissingCoupling(variance: Variance | null, { significance }: TaxonomyThresholds): string {
  if (variance === null) {
    return 'not every alternative has two returns';
  }
  if (variance.p === null) {
    return `variance within alternatives ${formatThreeDecimals(variance.within)} is not > variance of their means ${formatThreeDecimals(variance.between)}`;
  }
  return `the alternatives differ, ${variance.test} < ${significance}`;
}

function analyzeVariance(measured: readonly Measured[], returns: readonly number[]): Variance {
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
  return {
    within,
    between,
    p,
    test: `F(${degreesBetween},${degreesWithin})=${formatThreeDecimals(ratio)}, p=${formatThreeDecimals(p)}`,
  };
}

/** Lists the numbers behind every verdict: the number of returns, their cost, and the means. */
function describeReturns(bucket: TaxonomyBucket): string {
  const real = findRealAlternative(bucket);
  const aggregates = bucket.alternatives.map(({ returns }) => aggregate(returns));
  const means = bucket.alternatives.slice(0, LISTED_MEANS).map((alternative) => {
    const { mean: value } = aggregate(alternative.returns);
    return `${value === null ? 'not measured' : formatThreeDecimals(value)}${alternative === real ? ' (real)' : ''}`;
  });
  const more = bucket.alternatives.length - means.length;
  const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
  const masked = sum(aggregates.map((one) => one.masked));
  const calls = sum(bucket.alternatives.map((one) => one.evaluatorCalls));
  return (
    `n=${formatCounted(sum(aggregates.map((one) => one.count)), 'return')} of ` +
    `${formatCounted(bucket.alternatives.length, 'alternative')}${masked === 0 ? '' : `, ${masked} masked`}` +
    `, ${formatCounted(calls, 'evaluator call')}` +
    `; mean ${means.length === 1 ? 'return' : 'returns'} ${means.join(', ')}${more === 0 ? '' : ` and ${more} more`}`
  );
}

function formatThreeDecimals(value: number): string {
  return String(Number(value.toFixed(3)));
}

/** Sorts buckets into the paper's four failure classes (C3 appendix N), each case with the numbers that decided. */
import { aggregate, unmasked } from '../credit/aggregate.ts';
import { mean, sampleVariance, squaredDeviations } from '../credit/describe.ts';
import { differenceInterval } from '../credit/interval.ts';
import { fUpperTail } from '../credit/studentT.ts';
import type { Alternative, BucketView } from '../domain/replay.ts';
import {
  ALL_SUCCEEDED,
  TAXONOMY_THRESHOLDS,
  UNCLASSIFIED,
  type TaxonomyCase,
  type TaxonomyThresholds,
  type VerdictName,
} from '../domain/taxonomy.ts';
import { isSolved } from '../shared/credit/returns.ts';

/** What the classes are decided on; a BucketView with its question and whether its role is terminal will do. */
export interface TaxonomyBucket extends Pick<BucketView, 'id' | 'message' | 'role'> {
  readonly question: string;
  /** True where no scored message lies downstream of the bucket's role. */
  readonly terminal: boolean;
  /** The return of an episode whose every scored message succeeds. */
  readonly fullReturn: number;
  /** In index order. The real action is the one marked original, the first where none is. */
  readonly alternatives: readonly Pick<Alternative, 'message' | 'original' | 'returns' | 'evaluatorCalls'>[];
}

/** So that 0.8 - 0.6 is not greater than 0.2. */
const ROUNDING = 1e-9;
const LISTED_MEANS = 12;

/** An alternative with a return that was not masked. */
export interface Measured {
  readonly real: boolean;
  /** By replay; null where it was masked. */
  readonly all: readonly (number | null)[];
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

export interface Comparison {
  readonly best: Measured;
  /** Undefined where the real message has no return. */
  readonly real: Measured | undefined;
  /** Null where it cannot be estimated. */
  readonly shift: Shift | null;
  /** Greatest return - smallest. */
  readonly range: number;
  /** Null where an alternative has fewer than two returns. */
  readonly variance: Variance | null;
}

/**
 * By how much the best alternative exceeds the real one. The best of some looks better than it is in the returns by
 * which it was chosen, so it is chosen by one half of the replays, those of even or of odd index, and compared in the
 * other: the mean over both ways (sample splitting; Cox, Biometrika 62, 1975). A terminal message has the return of its
 * text, which is no draw: there all returns are one.
 */
export interface Shift {
  readonly value: number;
  /** By half that chose: the alternative, and what both returned in the other half. */
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
  /** Null where the spread within does not exceed that of the means, so that no test is needed. */
  readonly p: number | null;
  readonly test: string;
}

/** What the rules look at, as numbers. */
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

/** @throws C3Error('input') for a return that is not finite */
export function studyBucket<B extends TaxonomyBucket>(bucket: B): BucketStudy<B> {
  const measured = measure(bucket);
  const returns = measured.flatMap((alternative) => alternative.returns);
  const succeeded = returns.length > 0 && returns.every((value) => isSolved(value, bucket.fullReturn));
  return { bucket, measured, succeeded, compared: compare(measured, bucket.terminal) };
}

/** @returns null for fewer than two */
export function compare(measured: readonly Measured[], terminal: boolean): Comparison | null {
  const [first, ...rest] = measured;
  if (first === undefined || rest.length === 0) {
    return null;
  }
  const returns = measured.flatMap((alternative) => alternative.returns);
  const real = measured.find((alternative) => alternative.real);
  return {
    best: bestOf(measured, ({ mean: value }) => value) ?? first,
    real,
    shift: real === undefined ? null : shiftOf(measured, real, terminal),
    range: returns.reduce((a, b) => Math.max(a, b)) - returns.reduce((a, b) => Math.min(a, b)),
    variance: measured.some((alternative) => alternative.returns.length < 2) ? null : varianceOf(measured, returns),
  };
}

/** The first of those with the highest value. @returns null where none has one */
function bestOf(measured: readonly Measured[], valueOf: (one: Measured) => number | null): Measured | null {
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

function shiftOf(measured: readonly Measured[], real: Measured, terminal: boolean): Shift | null {
  const ways = terminal
    ? [{ best: bestOf(measured, ({ mean: value }) => value)?.returns ?? [], real: real.returns }]
    : ([0, 1] as const).flatMap((chooser): Way[] => {
        const best = bestOf(measured, (one) => meanOrNull(halfOf(one, chooser)));
        const way = { best: best === null ? [] : halfOf(best, 1 - chooser), real: halfOf(real, 1 - chooser) };
        return way.best.length === 0 || way.real.length === 0 ? [] : [way];
      });
  return ways.length === 0 ? null : { value: mean(ways.map((way) => mean(way.best) - mean(way.real))), ways };
}

/** The returns of every second replay. @param parity 0 for the first, the third and so on; 1 for the others */
const halfOf = ({ all }: Measured, parity: number): number[] =>
  all.filter((value, index): value is number => value !== null && index % 2 === parity);

const meanOrNull = (values: readonly number[]): number | null => (values.length === 0 ? null : mean(values));

/**
 * Gives a bucket at most one class. Masked returns are left out, and so is an alternative without any other; a bucket
 * with fewer than two alternatives left, or one that fits no class, stays unclassified. A bucket in which everything
 * measured is a full success is no failure and gets no class, whatever the thresholds. Otherwise the first rule that
 * holds decides:
 *
 * 1. Misleading Plan, tested first because failing alike is no ambiguity of the evaluator: the role has scored roles
 *    downstream and the best mean return is below `misleading`: whatever is done with any of its plans fails.
 * 2. Evaluator Ambiguity: all returns, within and between alternatives, lie closer together than `ambiguity`.
 * 3. Successful Credit Shift: the mean return of the best, chosen on one half of its replays and estimated on the
 *    other, exceeds the real action's by more than `shift`.
 * 4. Over-Coupling: every alternative has at least two returns, the variance within alternatives is greater than that
 *    of their means, and an F test (one-way analysis of variance) at the level `significance` does not separate
 *    the alternatives.
 */
export function verdictOf({ bucket, succeeded, compared }: BucketFacts, thresholds: TaxonomyThresholds): VerdictName {
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

/** The verdict on a bucket, with what decided. */
export function classifyStudy(study: BucketStudy, thresholds: TaxonomyThresholds = TAXONOMY_THRESHOLDS): Verdict {
  const name = verdictOf(study, thresholds);
  return { name, reason: () => reasonOf(name, study, thresholds) };
}

function reasonOf(
  name: VerdictName,
  { bucket, measured, compared }: BucketStudy,
  thresholds: TaxonomyThresholds,
): string {
  if (name === ALL_SUCCEEDED) {
    return `every measured return reaches ${show(bucket.fullReturn)}`;
  }
  if (compared === null) {
    return `${measured.length === 0 ? 'no alternative has' : 'only one alternative has'} a return`;
  }
  const { best, range, variance } = compared;
  switch (name) {
    case 'Misleading Plan':
      return `best mean return ${show(best.mean)} (n=${best.returns.length}) < ${thresholds.misleading}, with scored roles downstream`;
    case 'Evaluator Ambiguity':
      return `all returns lie within ${show(range)} < ${thresholds.ambiguity}`;
    case 'Successful Credit Shift':
      return shiftReason(compared, bucket.terminal, thresholds);
    case 'Over-Coupling':
      return `variance within alternatives ${show(variance?.within ?? NaN)} > variance of their means ${show(variance?.between ?? NaN)}, ${variance?.test ?? ''}`;
    case UNCLASSIFIED:
      return `${unshiftedReason(compared, thresholds)}, and ${uncoupledReason(variance, thresholds)}`;
  }
}

/** The evidence of a verdict in one sentence: what decided, then the returns, what they cost, and the means. */
export function evidenceOf(bucket: TaxonomyBucket, { reason }: Verdict): string {
  return `${reason()}; ${describe(bucket)}.`;
}

/**
 * The message that a case is about: the one that was clicked, else the real one; null in a bucket that is still empty.
 */
export function messageOfCase(bucket: Pick<TaxonomyBucket, 'message' | 'alternatives'>): number | null {
  return bucket.message ?? realOf(bucket)?.message ?? null;
}

/** The cases of a verdict, in the order of the buckets; one that is still empty is left out. */
export function casesOf(
  name: VerdictName,
  classified: readonly { readonly bucket: TaxonomyBucket; readonly verdict: Verdict }[],
): TaxonomyCase[] {
  return classified.flatMap(({ bucket, verdict }) => {
    const message = messageOfCase(bucket);
    const { id, role, question } = bucket;
    return verdict.name !== name || message === null
      ? []
      : [{ bucket: id, message, role, question, evidence: evidenceOf(bucket, verdict) }];
  });
}

/** The message that was really said: the one marked so, the first where none is. */
export function realOf(
  bucket: Pick<TaxonomyBucket, 'alternatives'>,
): TaxonomyBucket['alternatives'][number] | undefined {
  return bucket.alternatives.find((alternative) => alternative.original) ?? bucket.alternatives[0];
}

function measure(bucket: TaxonomyBucket): Measured[] {
  const real = realOf(bucket);
  return bucket.alternatives.flatMap((alternative) => {
    const returns = unmasked(alternative.returns);
    return returns.length === 0
      ? []
      : [{ real: alternative === real, all: alternative.returns, returns, mean: mean(returns) }];
  });
}

function shiftReason({ shift }: Comparison, terminal: boolean, thresholds: TaxonomyThresholds): string {
  const { value, ways } = shift ?? { value: NaN, ways: [] };
  const [best, real] = [ways.flatMap((way) => way.best), ways.flatMap((way) => way.real)];
  const interval = differenceInterval(best, real);
  const bounds =
    interval === null || interval.low === null || interval.high === null
      ? 'interval not measured'
      : `95 % interval ${show(interval.low)} to ${show(interval.high)} (${interval.method})`;
  const how = terminal ? '' : ', the best chosen on other replays';
  return `best ${show(mean(best))} (n=${best.length}) - real ${show(mean(real))} (n=${real.length}) = ${show(value)} > ${thresholds.shift}${how}, ${bounds}`;
}

function unshiftedReason({ real, shift }: Comparison, thresholds: TaxonomyThresholds): string {
  if (real === undefined) {
    return 'the real message has no return';
  }
  return shift === null
    ? 'the best and the real message have too few replays to choose on some and compare on others'
    : `best - real = ${show(shift.value)} is not > ${thresholds.shift}`;
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

/**
 * What the classes of the failure taxonomy explain: the share of the losses within reach that fresh messages save in
 * the place of those that a class flags, beside the share of as many cases chosen at random. Pure.
 *
 * A class is given by returns, and the same returns would flatter it: what looks lost by chance looks saved. So each
 * bucket is classified on one half of its evidence and measured on the other, and the other way round (sample
 * splitting, as in taxonomy.ts): by every second replay, or, where the text of a message determines its return, by
 * every second of the other messages.
 */
import { unmasked } from '../credit/aggregate.ts';
import { mean } from '../credit/describe.ts';
import { ratioOfMeans } from '../credit/ratio.ts';
import {
  TAXONOMY_CLASSES,
  type SavedShare,
  type TaxonomyClassName,
  type TaxonomyThresholds,
  type VerdictName,
} from '../domain/taxonomy.ts';
import { isSolved } from '../shared/credit/returns.ts';
import { realOf, studyBucket, verdictOf, type TaxonomyBucket } from './taxonomy.ts';

/** What is looked at: a bucket, and the problem that it is of. */
export type SavedBucket = TaxonomyBucket & { readonly problem: string };

/** A lost message as one half of its evidence sees it. */
interface Case {
  readonly problem: string;
  readonly name: VerdictName;
  /** What a fresh message in its place returns more, by the other half. */
  readonly saved: number;
}

/**
 * By class: the sum of what is saved in its cases, divided by the sum over all lost messages, with Fieller's interval
 * over problems. A class is left out where it may as well be nothing that was within reach.
 */
export function savedShares(
  buckets: readonly SavedBucket[],
  thresholds: TaxonomyThresholds,
): ReadonlyMap<TaxonomyClassName, SavedShare> {
  const cases = buckets.flatMap((bucket) => casesIn(bucket, thresholds));
  const problems = [...Map.groupBy(cases, ({ problem }) => problem).values()];
  const sumOf = (own: readonly Case[]): number => own.reduce((sum, { saved }) => sum + saved, 0);
  const all = problems.map(sumOf);
  if (all.length === 0 || mean(all) <= 0) {
    return new Map();
  }
  return new Map(
    TAXONOMY_CLASSES.flatMap((name): [TaxonomyClassName, SavedShare][] => {
      const of = (own: readonly Case[]): readonly Case[] => own.filter((one) => one.name === name);
      const share = ratioOfMeans(
        problems.map((own) => sumOf(of(own))),
        all,
      );
      return share.low === null ? [] : [[name, { share, random: of(cases).length / cases.length }]];
    }),
  );
}

/** The real message of a bucket where it was lost, as either half sees it; one without enough evidence sees nothing. */
function casesIn(bucket: SavedBucket, thresholds: TaxonomyThresholds): Case[] {
  const real = realOf(bucket);
  if (real === undefined) {
    return [];
  }
  const others = bucket.alternatives.filter((one) => one !== real);
  return ([0, 1] as const).flatMap((half): Case[] => {
    const seen = bucket.terminal ? everySecond(others, half) : others.map((one) => halved(one, half));
    const measured = bucket.terminal ? everySecond(others, 1 - half) : others.map((one) => halved(one, 1 - half));
    const [own, again] = bucket.terminal ? [real, real] : [halved(real, half), halved(real, 1 - half)];
    const [before, kept] = [unmasked(own.returns), unmasked(again.returns)];
    const fresh = measured.flatMap(({ returns }) => unmasked(returns));
    if (before.length === 0 || kept.length === 0 || fresh.length === 0) {
      return [];
    }
    if (isSolved(mean(before), bucket.fullReturn)) {
      return [];
    }
    const name = verdictOf(studyBucket({ ...bucket, alternatives: [own, ...seen] }), thresholds);
    return [{ problem: bucket.problem, name, saved: mean(fresh) - mean(kept) }];
  });
}

type Alternative = TaxonomyBucket['alternatives'][number];

const everySecond = (all: readonly Alternative[], half: number): Alternative[] =>
  all.filter((_, index) => index % 2 === half);

const halved = (one: Alternative, half: number): Alternative => ({
  ...one,
  returns: one.returns.filter((_, index) => index % 2 === half),
});

/**
 * The part of the losses that the classes of the failure taxonomy explain: the share of the losses
 * within reach that fresh messages save in the place of those that a class flags, and the share of
 * equally many cases chosen at random. Pure.
 *
 * The returns that define a class must not measure it too: losses by chance would look saved. Each
 * bucket is therefore classified on one half of its evidence and measured on the other, in both ways
 * (sample splitting, as in taxonomy.ts). The halves are every second replay, or every second other
 * message if the text of a message determines its return.
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
import { findRealAlternative, studyBucket, classifyFacts, type TaxonomyBucket } from './taxonomy.ts';

/** A bucket with its problem. */
export type SavedBucket = TaxonomyBucket & { readonly problem: string };

/** A lost message, classified by one half of its evidence. */
interface Case {
  readonly problem: string;
  readonly name: VerdictName;
  /** Gain of a fresh message in its place, by the other half. */
  readonly saved: number;
}

/**
 * Returns, by class, the sum of the savings in its cases divided by the sum over all lost messages,
 * with Fieller's interval over problems. A class is left out if possibly nothing was within reach.
 */
export function measureSavedShares(
  buckets: readonly SavedBucket[],
  thresholds: TaxonomyThresholds,
): ReadonlyMap<TaxonomyClassName, SavedShare> {
  const cases = buckets.flatMap((bucket) => listSavedCases(bucket, thresholds));
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

/**
 * Returns the real message of a bucket as a case for each half in which it was lost. A half without
 * enough evidence gives no case.
 */
function listSavedCases(bucket: SavedBucket, thresholds: TaxonomyThresholds): Case[] {
  const real = findRealAlternative(bucket);
  if (real === undefined) {
    return [];
  }
  const others = bucket.alternatives.filter((one) => one !== real);
  return ([0, 1] as const).flatMap((half): Case[] => {
    const seen = bucket.terminal ? takeEverySecond(others, half) : others.map((one) => halveReturns(one, half));
    const measured = bucket.terminal
      ? takeEverySecond(others, 1 - half)
      : others.map((one) => halveReturns(one, 1 - half));
    const [own, again] = bucket.terminal ? [real, real] : [halveReturns(real, half), halveReturns(real, 1 - half)];
    const [before, kept] = [unmasked(own.returns), unmasked(again.returns)];
    const fresh = measured.flatMap(({ returns }) => unmasked(returns));
    if (before.length === 0 || kept.length === 0 || fresh.length === 0) {
      return [];
    }
    if (isSolved(mean(before), bucket.fullReturn)) {
      return [];
    }
    const name = classifyFacts(studyBucket({ ...bucket, alternatives: [own, ...seen] }), thresholds);
    return [{ problem: bucket.problem, name, saved: mean(fresh) - mean(kept) }];
  });
}

type Alternative = TaxonomyBucket['alternatives'][number];

const takeEverySecond = (all: readonly Alternative[], half: number): Alternative[] =>
  all.filter((_, index) => index % 2 === half);

const halveReturns = (one: Alternative, half: number): Alternative => ({
  ...one,
  returns: one.returns.filter((_, index) => index % 2 === half),
});

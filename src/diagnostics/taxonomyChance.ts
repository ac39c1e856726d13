/**
 * The counts of the failure taxonomy's classes if messages make no difference: the returns of every
 * bucket are dealt out anew among its messages (a permutation test; Fisher, "The Design of
 * Experiments", 1935). Deterministic: every deal depends only on its round and the bucket. Pure.
 */

import { openStream, uniform } from '../credit/counter.ts';
import { mean } from '../credit/describe.ts';
import type { Interval } from '../domain/credit.ts';
import { CHANCE_ROUNDS, VERDICTS, type TaxonomyThresholds, type VerdictName } from '../domain/taxonomy.ts';
import { compareAlternatives, classifyFacts, type BucketFacts, type BucketStudy, type Measured } from './taxonomy.ts';

/** The facts of a bucket in each round; a single element if all rounds are equal. */
export type Deals = readonly BucketFacts[];

/** Computes the facts of a bucket in every round. */
export function dealReturns(study: BucketStudy): Deals {
  const { bucket, measured, compared } = study;
  // If all returns are equal, or nothing is compared, no deal changes anything.
  if (compared === null || compared.range === 0) {
    return [toBucketFacts(study)];
  }
  const returns = measured.flatMap((alternative) => alternative.returns);
  return Array.from({ length: CHANCE_ROUNDS }, (_, round) =>
    toBucketFacts({
      ...study,
      compared: compareAlternatives(
        replaceReturns(measured, shuffleReturns(returns, bucket.id, round)),
        bucket.terminal,
      ),
    }),
  );
}

/** Returns the facts without the returns themselves, so that thousands can be kept. */
function toBucketFacts({ bucket: { terminal }, succeeded, compared }: BucketStudy): BucketFacts {
  return {
    bucket: { terminal },
    succeeded,
    compared:
      compared === null
        ? null
        : {
            best: { mean: compared.best.mean },
            range: compared.range,
            shift: compared.shift === null ? null : { value: compared.shift.value },
            variance: compared.variance === null ? null : { p: compared.variance.p },
          },
  };
}

/** Returns the same alternatives with other returns in place of theirs. */
function replaceReturns(measured: readonly Measured[], returns: readonly number[]): Measured[] {
  let next = 0;
  return measured.map(({ real, all }) => {
    const own = all.map((value) => (value === null ? null : (returns[next++] ?? null)));
    const kept = own.filter((value) => value !== null);
    return { real, all: own, returns: kept, mean: mean(kept) };
  });
}

/** Returns the values in a random order (Fisher-Yates). */
function shuffleReturns(values: readonly number[], bucket: number, round: number): number[] {
  const stream = openStream(bucket, round);
  const order = [...values];
  for (let last = order.length - 1; last > 0; last--) {
    const chosen = Math.floor(uniform(stream, last) * (last + 1));
    [order[last], order[chosen]] = [order[chosen] ?? NaN, order[last] ?? NaN];
  }
  return order;
}

/** Returns the chance count of each verdict over buckets: mean, least and greatest over rounds. */
export function countByChance(
  buckets: readonly Deals[],
  thresholds: TaxonomyThresholds,
): Readonly<Record<VerdictName, Interval>> {
  const counts = VERDICTS.map((name) => ({ name, rounds: new Array<number>(CHANCE_ROUNDS).fill(0) }));
  const byName = new Map(counts.map(({ name, rounds }) => [name, rounds]));
  for (const deals of buckets) {
    const names = deals.map((facts) => classifyFacts(facts, thresholds));
    for (let round = 0; round < CHANCE_ROUNDS; round++) {
      const rounds = byName.get(names[round % names.length] ?? 'unclassified');
      if (rounds !== undefined) {
        rounds[round] = (rounds[round] ?? 0) + 1;
      }
    }
  }
  const intervals = counts.map(({ name, rounds }): [VerdictName, Interval] => [
    name,
    { value: mean(rounds), low: Math.min(...rounds), high: Math.max(...rounds), n: CHANCE_ROUNDS },
  ]);
  return Object.fromEntries(intervals) as Record<VerdictName, Interval>;
}

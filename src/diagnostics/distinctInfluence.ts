/**
 * Influence without the bias of its estimate. The smoothed mutual information of few samples is well
 * above 0 even if a message changes nothing. Its mean under permutation is therefore subtracted.
 */

import { openStream, uniform, type Stream } from '../credit/counter.ts';
import { mean } from '../credit/describe.ts';
import type { Interval } from '../domain/credit.ts';
import { listCreditedAlternatives, type DiagnosticBucket } from './bucket.ts';
import { toSymbol } from './canonical.ts';
import { chooseMostFrequent, smoothedInformation, type InfluenceSettings } from './influence.ts';
import { bootstrapMean } from './statistics/bootstrap.ts';

export interface DistinctInfluence {
  /** Mean over contexts of the estimate minus its null, in nats, with a bootstrap interval. */
  readonly value: Interval | null;
  /** Mean of the estimate over the same contexts; `null` is its mean with permuted next messages. */
  readonly estimate: number | null;
  readonly null: number | null;
  /** Permutations of each context. */
  readonly permutations: number;
  /** Contexts with one distinct text; they count as 0, since such a message has no influence. */
  readonly oneText: number;
  /** Contexts left out because fewer than two alternatives have a next message. */
  readonly leftOut: number;
}

const MOST_PERMUTATIONS = 100;
const FEWEST_PERMUTATIONS = 20;
/** Most permutations of all contexts together: with many contexts, each gets fewer. */
const MOST_IN_ALL = 200_000;

/**
 * Returns the mean over contexts of I(J; Y | h) between distinct texts j and next messages y, minus
 * its permutation null. Alternatives with equal texts are one, weighted by their samples. The null
 * permutes the next messages of a context over its texts and keeps the number of each text, so that
 * every dependence is gone and every count stays.
 * @param seed of the permutations; the result depends only on it and the contexts in their order
 */
export function measureDistinctInfluence(
  buckets: readonly DiagnosticBucket[],
  { symbol, topK, alpha }: InfluenceSettings,
  seed = 0,
): DistinctInfluence {
  const name = typeof symbol === 'string' ? (text: string): string => toSymbol(text, symbol) : symbol;
  const contexts = buckets.map((bucket) => groupNextByText(bucket, name)).filter((context) => context !== null);
  const vocabulary = chooseMostFrequent(contexts.flat(2), topK);
  const settings = { topK, alpha, weights: 'samples' } as const;
  const estimateOf = (context: readonly (readonly string[])[]): number =>
    smoothedInformation(context, settings, vocabulary) ?? 0;
  const permutations = Math.max(
    FEWEST_PERMUTATIONS,
    Math.min(MOST_PERMUTATIONS, Math.floor(MOST_IN_ALL / Math.max(1, contexts.length))),
  );
  const estimates = contexts.map(estimateOf);
  const nulls = contexts.map((context, index) =>
    context.length < 2
      ? 0
      : mean(
          Array.from({ length: permutations }, (_, round) =>
            estimateOf(permuteSymbols(context, openStream(seed, index * permutations + round))),
          ),
        ),
  );
  return {
    value: bootstrapMean(
      estimates.map((estimate, index) => estimate - (nulls[index] ?? 0)),
      seed,
    ),
    estimate: estimates.length === 0 ? null : mean(estimates),
    null: nulls.length === 0 ? null : mean(nulls),
    permutations,
    oneText: contexts.filter(({ length }) => length === 1).length,
    leftOut: buckets.length - contexts.length,
  };
}

/**
 * Returns the symbols of the next messages by distinct text, or null if fewer than two alternatives
 * have a next message.
 */
function groupNextByText(bucket: DiagnosticBucket, name: (text: string) => string): string[][] | null {
  const followed = listCreditedAlternatives(bucket).filter(({ next }) => next.length > 0);
  if (followed.length < 2) {
    return null;
  }
  const byText = new Map<string, string[]>();
  for (const { text, next } of followed) {
    byText.set(text, [...(byText.get(text) ?? []), ...next.map(name)]);
  }
  return [...byText.values()];
}

/** Shuffles the symbols (Fisher-Yates) and divides them as before. */
function permuteSymbols(context: readonly (readonly string[])[], stream: Stream): string[][] {
  const all = context.flat();
  for (let left = all.length - 1; left > 0; left--) {
    const other = Math.floor(uniform(stream, left) * (left + 1));
    [all[left], all[other]] = [all[other] ?? '', all[left] ?? ''];
  }
  let from = 0;
  return context.map(({ length }) => all.slice(from, (from += length)));
}

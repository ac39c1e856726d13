/** Probabilities of tokens by their rank before an update, and of the same tokens after it. */

import { SINGLE_RANKS, type RankShift } from '../../domain/step.ts';
import type { AbortFlag } from '../../shared/cancellation.ts';
import { CancelledError } from '../../shared/errors.ts';
import type { TransformerConfig } from '../model/transformer.ts';
import { checkContexts, packContexts, type TrainingContext } from './graph/pack.ts';
import { MICRO_BATCH_TOKENS, type Distributions } from './trainer.ts';

/** Sums over tokens of the probabilities of each rank. The last element is the rest of the vocabulary. */
export interface RankSums {
  readonly tokens: number;
  readonly before: Float64Array;
  readonly after: Float64Array;
}

export const emptyRankSums = (): RankSums => ({
  tokens: 0,
  before: new Float64Array(SINGLE_RANKS + 1),
  after: new Float64Array(SINGLE_RANKS + 1),
});

export const addRankSums = (one: RankSums, other: RankSums): RankSums => ({
  tokens: one.tokens + other.tokens,
  before: one.before.map((value, rank) => value + (other.before[rank] ?? 0)),
  after: one.after.map((value, rank) => value + (other.after[rank] ?? 0)),
});

/**
 * Ranks the tokens of each row by their probability before the update; of equal ones, the lower id
 * is first.
 * @param before log-probabilities, rows of `width`
 * @param after log-probabilities in the same layout
 * @param rows indices of the rows to count
 */
export function sumRanksOfRows(
  before: Float32Array,
  after: Float32Array,
  width: number,
  rows: Iterable<number>,
): RankSums {
  const sums = emptyRankSums();
  let tokens = 0;
  for (const row of rows) {
    tokens++;
    const begin = row * width;
    const top: number[] = [];
    for (let token = begin; token < begin + width; token++) {
      const value = before[token] ?? -Infinity;
      let place = top.length;
      while (place > 0 && value > (before[top[place - 1] ?? 0] ?? -Infinity)) {
        place--;
      }
      if (place < SINGLE_RANKS) {
        top.splice(place, 0, token);
        top.length = Math.min(top.length, SINGLE_RANKS);
      }
    }
    let [restBefore, restAfter] = [1, 1];
    for (const [rank, token] of top.entries()) {
      const [old, now] = [Math.exp(before[token] ?? -Infinity), Math.exp(after[token] ?? -Infinity)];
      sums.before[rank] = (sums.before[rank] ?? 0) + old;
      sums.after[rank] = (sums.after[rank] ?? 0) + now;
      restBefore -= old;
      restAfter -= now;
    }
    sums.before[SINGLE_RANKS] = (sums.before[SINGLE_RANKS] ?? 0) + Math.max(0, restBefore);
    sums.after[SINGLE_RANKS] = (sums.after[SINGLE_RANKS] ?? 0) + Math.max(0, restAfter);
  }
  return { ...sums, tokens };
}

export interface RankedPolicies {
  readonly before: Distributions;
  readonly after: Distributions;
}

/**
 * Returns the sums over every message token of some contexts.
 * @throws C3Error('input') if a context cannot be scored
 * @throws CancelledError between micro-batches
 */
export async function sumRanksOfContexts(
  config: TransformerConfig,
  { before, after }: RankedPolicies,
  contexts: readonly TrainingContext[],
  signal: AbortFlag,
): Promise<RankSums> {
  checkContexts(config, contexts);
  let sums = emptyRankSums();
  for (const batch of packContexts(config, contexts, MICRO_BATCH_TOKENS, 0)) {
    if (signal.aborted) {
      throw new CancelledError();
    }
    const rows = batch.placements.flatMap(({ context, message, start }) =>
      Array.from(contexts[context]?.messages[message]?.tokens ?? [], (_, place) => start + place),
    );
    sums = addRankSums(sums, sumRanksOfRows(await before(batch), await after(batch), config.vocabularySize, rows));
  }
  return sums;
}

/** Returns the means over the tokens, or 0 if there are none. */
export function meanRanks({ tokens, before, after }: RankSums): RankShift {
  const meanOf = (values: Float64Array): number[] => Array.from(values, (value) => value / Math.max(1, tokens));
  return { before: meanOf(before), after: meanOf(after) };
}

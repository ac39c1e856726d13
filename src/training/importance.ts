/** Importance weights of episodes: how well episodes of one policy represent another policy. */

import type { TrainingContext } from '../runtime/train/graph/pack.ts';
import type { Move, Origin } from './divergence.ts';

/** Logarithm of the largest weight that is computed. The exponential overflows above it. */
const LARGEST_LOG = 700;
/** A weight above this counts as heavy (TeamTR reference section 6). */
const HEAVY = 10;
/** Logarithm of the largest weight of an episode in learning, the same as for the ratios in the loss. */
const LARGEST_LEARNED_LOG = 10;

export interface WeightTails {
  /** (sum w)^2 / (B sum w^2) of B weights: the effective share of the episodes, from 1 / B to 1. */
  readonly effective: number;
  /** Percentiles, by linear interpolation between order statistics. */
  readonly p95: number;
  readonly p99: number;
  readonly largest: number;
  /** The share of weights above 10. */
  readonly heavy: number;
}

/**
 * Returns the effective sample size and the tails of importance weights (TeamTR reference section 6).
 * @param logWeights natural logarithms, so that no product of many ratios overflows
 * @returns null without weights
 */
export function measureWeightTails(logWeights: readonly number[]): WeightTails | null {
  const sorted = logWeights.toSorted((a, b) => a - b);
  const most = sorted.at(-1);
  if (most === undefined) {
    return null;
  }
  const weightOf = (log: number): number => Math.exp(Math.min(LARGEST_LOG, log));
  const percentile = (share: number): number => {
    const place = share * (sorted.length - 1);
    const below = weightOf(sorted[Math.floor(place)] ?? most);
    return below + (place - Math.floor(place)) * (weightOf(sorted[Math.ceil(place)] ?? most) - below);
  };
  // Dividing all weights by the largest one does not change the share.
  const scaled = sorted.map((log) => (log === most ? 1 : Math.exp(log - most)));
  const sum = scaled.reduce((total, one) => total + one, 0);
  const squares = scaled.reduce((total, one) => total + one * one, 0);
  return {
    effective: Math.min(1, (sum * sum) / (sorted.length * squares)),
    p95: percentile(0.95),
    p99: percentile(0.99),
    largest: weightOf(most),
    heavy: sorted.filter((log) => log > Math.log(HEAVY)).length / sorted.length,
  };
}

/**
 * Returns the weights of episodes for a team that was updated since they were sampled (TeamTR
 * reference section 6):
 *
 *   w(episode) = product over the messages of updated roles of now / sampled
 *
 * @param moves the moves of all those messages
 * @param cap the largest weight; weights are never above e^10, which is the cap if this is null
 * @returns the weights by the id of an episode's first message; episodes without such messages are
 *   missing and count 1
 */
export function computeEpisodeWeights(
  moves: readonly Pick<Move, 'episode' | 'logRatio'>[],
  cap: number | null,
): ReadonlyMap<number, number> {
  const logs = new Map<number, number>();
  for (const { episode, logRatio } of moves) {
    logs.set(episode, (logs.get(episode) ?? 0) + logRatio);
  }
  return new Map(
    [...logs].map(([episode, log]) => [
      episode,
      Math.min(cap ?? Infinity, Math.exp(Math.min(LARGEST_LEARNED_LOG, log))),
    ]),
  );
}

/**
 * Returns the contexts with each advantage multiplied by the weight of its episode. Weights are not
 * negative, so in the clipped surrogate w min(r A, clip(r) A) is min(r w A, clip(r) w A).
 * @param origins origins of messages by their tokens; a message without an origin counts 1
 */
export const applyEpisodeWeights = (
  contexts: readonly TrainingContext[],
  origins: ReadonlyMap<Int32Array, Origin>,
  weights: ReadonlyMap<number, number>,
): TrainingContext[] =>
  contexts.map((context) => ({
    ...context,
    messages: context.messages.map((message) => {
      const weight = weights.get(origins.get(message.tokens)?.episode ?? NaN) ?? 1;
      return { ...message, advantages: message.advantages.map((advantage) => advantage * weight) };
    }),
  }));

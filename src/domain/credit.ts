/** Estimates of what messages are worth, each with its uncertainty. */

import type { Credit } from '../shared/credit/credit.ts';

/**
 * The range of the credit with 95 % confidence. It stays valid however often you look while replays
 * are added. As long as it contains 0, the effect of the message is undecided.
 * @term interval
 */
export interface Interval {
  readonly value: number;
  /** Null if it cannot be estimated, as for `high`. */
  readonly low: number | null;
  readonly high: number | null;
  readonly n: number;
}

interface EstimateWords {
  readonly label: string;
  readonly detail: string;
  /** Label of the button that measures it, or null if measuring another one measures it too. */
  readonly action: string | null;
}

export const ESTIMATE_WORDS = {
  replace: {
    label: 'Replace',
    action: 'Sample others',
    detail:
      'Leave-one-out (C3): the mean return with this message less the mean of the other messages sampled in its place. This is its credit everywhere.',
  },
  remove: {
    label: 'Remove',
    action: 'Replay the empty message',
    detail: 'The mean return with this message less the mean with nothing said in its place.',
  },
  fullMean: {
    label: 'Full mean',
    action: null,
    detail: 'The mean return with this message less the mean of all messages sampled in its place, including itself.',
  },
  revote: {
    label: 'Revote',
    action: null,
    detail:
      'Of this episode, the reward of the vote less that of the vote without this voter, by the same rule and draw (CCPO). Nothing is sampled; each answer is scored by itself.',
  },
  shapley: {
    label: 'Shapley',
    action: null,
    detail: 'Of this episode, what the voter adds to the vote of those before it, the mean over all orders of voters.',
  },
} as const satisfies Readonly<Record<string, EstimateWords>>;

export type EstimateName = keyof typeof ESTIMATE_WORDS;

/**
 * The estimate of one estimator for a message, pooled over the buckets of the message's own
 * continuation distribution.
 */
export interface MessageEstimate {
  readonly name: EstimateName;
  /** The newest bucket that it was measured in; null if that is unknown or nothing was measured. */
  readonly bucket: number | null;
  /** Null if it was not measured. */
  readonly credit: Credit | null;
  /** The reason why it was not measured, or null if it was measured. */
  readonly reason: string | null;
  /** True if further replays would measure it; an empty message, for example, cannot be removed. */
  readonly measurable: boolean;
}

/**
 * The part of the spread of returns that comes from the message, compared with everything after it. If
 * rho is large, replays show more than whole episodes do.
 * @term rho
 */
export interface MessageRho {
  readonly role: string;
  /** The variance of the return that it adds, given the messages before it; null if it was not measured. */
  readonly variance: number | null;
  /**
   * `variance` divided by the variance due to all messages after it; null for the last one, and if
   * nothing varies after it.
   */
  readonly rho: Interval | null;
  /**
   * The predicted variance of C3's gradient divided by MAGRPO's at the same evaluator calls; null if the
   * fan-out gives the message no sibling.
   */
  readonly varianceRatio: number | null;
}

export interface RhoReport {
  readonly questions: number;
  readonly alternatives: number;
  readonly replays: number;
  readonly evaluatorCalls: number;
  /** The fan-out of C3, and the number of whole episodes of MAGRPO, that the prediction compares. */
  readonly fanout: readonly number[];
  readonly episodes: number;
  /** In the order of the protocol. */
  readonly messages: readonly MessageRho[];
  /** The tree that `shape: auto` would sample; null if it does not apply or the variances are unknown. */
  readonly tree: PredictedTree | null;
}

export interface PredictedTree {
  /** Messages in each context, in the order of the protocol. */
  readonly fanout: readonly number[];
  /**
   * The predicted variance of the gradient, summed over the roles that learn, divided by that of whole
   * episodes with as many evaluator calls; null if that is 0.
   */
  readonly ratio: number | null;
  /** The same, divided by that of the configured `fanout`; null too if that tree does not apply. */
  readonly fanoutRatio: number | null;
}

/** What one message was worth by each estimator, side by side: what crosses to a page, and the words for it. */
import type { Credit } from '../shared/credit/credit.ts';

interface EstimateWords {
  readonly label: string;
  readonly detail: string;
  /** What a button that measures it says; null where measuring another one measures it too. */
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

/** One estimator's word on a message, pooled over the buckets of the message's own continuation distribution. */
export interface MessageEstimate {
  readonly name: EstimateName;
  /** The newest bucket that it was measured in; null where that is not known, or it was not measured. */
  readonly bucket: number | null;
  /** Null where it was not measured. */
  readonly credit: Credit | null;
  /** Why it was not measured; null where it was. */
  readonly reason: string | null;
  /** Whether further replays would measure it: an empty message cannot be removed. */
  readonly measurable: boolean;
}

/** What one message was worth by each estimator, side by side: what crosses to a page, and the words for it. */
import type { Credit } from './records.ts';

/** replace: against the other messages sampled in its context, leave-one-out (C3). remove: against nothing said in its place. fullMean: against the mean of all, itself among them. */
export const ESTIMATES = ['replace', 'remove', 'fullMean'] as const;
export type EstimateName = (typeof ESTIMATES)[number];

export const ESTIMATE_WORDS: Readonly<Record<EstimateName, { readonly label: string; readonly detail: string }>> = {
  replace: { label: 'Replace', detail: 'Leave-one-out (C3): the mean return with this message less the mean of the other messages sampled in its place. This is its credit everywhere.' },
  remove: { label: 'Remove', detail: 'The mean return with this message less the mean with nothing said in its place.' },
  fullMean: { label: 'Full mean', detail: 'The mean return with this message less the mean of all messages sampled in its place, itself among them.' },
};

/** One estimator's word on a message, pooled over the buckets of the message's own continuation distribution. */
export interface MessageEstimate {
  readonly name: EstimateName;
  /** The newest bucket that it was measured in; null where that is not known, or it was not measured. */
  readonly bucket: number | null;
  /** Null where it was not measured. */
  readonly credit: Credit | null;
  /** Why it was not measured; null where it was. */
  readonly reason: string | null;
}

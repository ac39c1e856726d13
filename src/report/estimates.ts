/** Computes the estimators' results for a message from its stored buckets. Pure. */

import { compareEstimators } from '../credit/sideBySide.ts';
import type { MessageEstimate } from '../domain/credit.ts';
import type { Message } from '../domain/message.ts';
import type { BucketView } from '../domain/replay.ts';
import { describeHeadline, type Headline } from '../shared/credit/headline.ts';
import type { ShownVote, ShownVoter } from '../shared/transcript/shownVote.ts';
import type { MeasuredCredit, ReportedCredit } from './types.ts';

/** Returns a headline credit in the form of reports. */
export function reportedCredit(credit: Headline | null): ReportedCredit | null {
  return credit === null
    ? null
    : { ...credit, value: credit.verdict === 'alone' ? null : credit.value, sentence: describeHeadline(credit) };
}

/** Returns the credit if it has a value, or else null. */
export function measuredCredit(credit: ReportedCredit | null): MeasuredCredit | null {
  return credit === null || credit.value === null ? null : { ...credit, value: credit.value };
}

const OMITTED = 'its bucket holds more alternatives than are read here; a report of the message counts them all';

/**
 * Returns the replace, remove and full mean estimates of a message, each pooled over the buckets of
 * its own continuation distribution. Replace is its headline credit.
 * @param buckets all known buckets of its context, oldest first
 */
export function estimateMessage(
  { id, bucket: own, credit }: Pick<Message, 'id' | 'bucket'> & { readonly credit: Headline | null },
  buckets: readonly BucketView[],
): readonly MessageEstimate[] {
  // The bucket that sampled the message has its distribution, even if another message was the
  // subject there.
  const spoken = buckets.filter(
    (bucket) => bucket.id === own || (bucket.message === id && bucket.continuation === null),
  );
  const whole = spoken.filter(({ omitted }) => omitted === undefined);
  const estimates = compareEstimators(id, credit, whole);
  return whole.length === spoken.length
    ? estimates
    : estimates.map((estimate) => (estimate.credit === null ? { ...estimate, reason: OMITTED } : estimate));
}

const UNSCORED = 'an answer of the vote cannot be scored here';

/**
 * Adds estimates of a message whose episode ended in a vote: the vote without it. They need no
 * sampling but are of one episode, so they have no interval.
 * @param vote null if there was none
 */
export function withVote(
  estimates: readonly MessageEstimate[],
  message: number,
  vote: ShownVote | null,
): readonly MessageEstimate[] {
  const voter = vote?.voters.find((one) => one.message === message);
  return vote === null || voter === undefined
    ? estimates
    : [...estimates, voteEstimate('revote', vote, voter.contribution), voteEstimate('shapley', vote, voter.shapley)];
}

function voteEstimate(
  name: 'revote' | 'shapley',
  { evaluatorCalls }: ShownVote,
  value: ShownVoter['contribution'],
): MessageEstimate {
  const none = { bucket: null, measurable: false };
  return value === null
    ? { name, ...none, credit: null, reason: UNSCORED }
    : {
        name,
        ...none,
        credit: { estimator: name, value, low: null, high: null, n: 1, evaluatorCalls, interval: 'none' },
        reason: null,
      };
}

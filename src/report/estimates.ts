/** The estimators' words on a message, from its stored buckets. Pure. */
import { sideBySide } from '../credit/sideBySide.ts';
import type { MessageEstimate } from '../domain/credit.ts';
import type { Message } from '../domain/message.ts';
import type { BucketView } from '../domain/replay.ts';
import { sentence, type Headline } from '../shared/credit/headline.ts';
import type { ShownVote, ShownVoter } from '../shared/transcript/shownVote.ts';
import type { MeasuredCredit, ReportedCredit } from './types.ts';

/** A headline credit as reports hold it. */
export function reportedCredit(credit: Headline | null): ReportedCredit | null {
  return credit === null
    ? null
    : { ...credit, value: credit.verdict === 'alone' ? null : credit.value, sentence: sentence(credit) };
}

/** The credit where it has a value. */
export function measuredCredit(credit: ReportedCredit | null): MeasuredCredit | null {
  return credit === null || credit.value === null ? null : { ...credit, value: credit.value };
}

const OMITTED = 'its bucket holds more alternatives than are read here; a report of the message counts them all';

/**
 * Replace, remove and full mean of a message, each pooled over the buckets of its own continuation distribution.
 * Replace is its headline credit.
 * @param buckets all that are known of its context, oldest first
 */
export function estimatesOf(
  { id, bucket: own, credit }: Pick<Message, 'id' | 'bucket'> & { readonly credit: Headline | null },
  buckets: readonly BucketView[],
): readonly MessageEstimate[] {
  // The bucket that sampled the message is its own distribution, whatever that is to the message that was asked about
  // there.
  const spoken = buckets.filter(
    (bucket) => bucket.id === own || (bucket.message === id && bucket.continuation === null),
  );
  const whole = spoken.filter(({ omitted }) => omitted === undefined);
  const estimates = sideBySide(id, credit, whole);
  return whole.length === spoken.length
    ? estimates
    : estimates.map((estimate) => (estimate.credit === null ? { ...estimate, reason: OMITTED } : estimate));
}

const UNSCORED = 'an answer of the vote cannot be scored here';

/**
 * The same of a message whose episode ended in a vote, with what the vote is without it: at no sampling cost, of one
 * episode, and so without an interval.
 * @param vote null where there was none
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

/** The estimators' words on a message, from its stored buckets. Pure. */
import { sideBySide } from '../credit/sideBySide.ts';
import type { MessageEstimate } from '../shared/records/estimates.ts';
import { sentence, type Headline } from '../shared/credit/headline.ts';
import type { BucketView, Message } from '../shared/records/records.ts';
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

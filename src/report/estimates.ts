/** The estimators' words on a message, from its stored buckets. Pure. */
import { sideBySide } from '../credit/sideBySide.ts';
import type { MessageEstimate } from '../shared/estimates.ts';
import type { BucketView, Message } from '../shared/records.ts';

const OMITTED = 'its bucket holds more alternatives than are read here; a report of the message counts them all';

/**
 * Replace, remove and full mean of a message, each from one bucket of its own continuation distribution.
 * @param buckets all that are known of its context, oldest first
 */
export function estimatesOf({ id, bucket: own }: Pick<Message, 'id' | 'bucket'>, buckets: readonly BucketView[]): readonly MessageEstimate[] {
  // The bucket that sampled the message is its own distribution, whatever that is to the message that was asked about there.
  const spoken = buckets.filter((bucket) => bucket.id === own || (bucket.message === id && bucket.continuation === null));
  const whole = spoken.filter(({ omitted }) => omitted === undefined);
  const estimates = sideBySide(id, whole);
  return whole.length === spoken.length ? estimates : estimates.map((estimate) => (estimate.credit === null ? { ...estimate, reason: OMITTED } : estimate));
}

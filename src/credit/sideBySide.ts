/** What one message was worth by replacing it, by removing it and against the mean of all, each from the returns of one bucket: buckets are never pooled. */
import type { Credit } from '../shared/records.ts';
import type { EstimateName, MessageEstimate } from '../shared/estimates.ts';
import { unmasked } from './aggregate.ts';
import { creditBucket, type CreditInput } from './creditBucket.ts';
import { differenceInterval } from './interval.ts';

export interface ComparedAlternative extends CreditInput {
  readonly decision: number;
  readonly text: string;
  readonly finish: 'end' | 'length' | 'typed';
}

export interface ComparedBucket {
  readonly id: number;
  readonly alternatives: readonly ComparedAlternative[];
}

const isReturned = ({ returns }: CreditInput): boolean => unmasked(returns).length > 0;
export const isEmptied = ({ finish, text }: Pick<ComparedAlternative, 'finish' | 'text'>): boolean => finish === 'typed' && text.trim() === '';

/**
 * The difference between a message's returns and those with nothing in its place, with its interval; n counts both sides.
 * @returns null where either has no return
 */
export function removal(kept: CreditInput, emptied: CreditInput): Credit | null {
  const interval = differenceInterval(unmasked(kept.returns), unmasked(emptied.returns));
  if (interval === null) return null;
  const { value, low, high, n, method } = interval;
  return { estimator: 'remove', value, low, high, n, evaluatorCalls: kept.evaluatorCalls + emptied.evaluatorCalls, interval: method };
}

/**
 * The estimators' words on a message, in the order of their names.
 *
 * Replace and full mean compare it with what was sampled in its context; what a person typed there was not drawn from the policy and is left out.
 * Of several buckets the one with the most returns speaks, of equals the newest.
 * @param buckets of the message's own continuation distribution, oldest first; those without it do not count
 */
export function sideBySide(message: number, buckets: readonly ComparedBucket[]): readonly MessageEstimate[] {
  const found = buckets.flatMap(({ id, alternatives }) => {
    const own = alternatives.find(({ decision }) => decision === message);
    return own === undefined || !isReturned(own) ? [] : [{ id, own, alternatives }];
  });
  const empty = found.some(({ own }) => own.text.trim() === '');
  const sampled = found.map(({ id, own, alternatives }) => ({ id, own, group: alternatives.filter((one) => one === own || one.finish !== 'typed') }));
  const replaced = best(sampled.filter(({ own, group }) => group.some((one) => one !== own && isReturned(one))), ({ group }) => returnsIn(group));
  const removed = best(found.flatMap(({ id, own, alternatives }) => {
    const emptied = empty ? undefined : alternatives.find((one) => isEmptied(one) && isReturned(one));
    return emptied === undefined ? [] : [{ id, own, emptied }];
  }), ({ own, emptied }) => returnsIn([own, emptied]));
  const against = (name: EstimateName, estimator: 'loo' | 'full_mean'): MessageEstimate => {
    const credit = replaced === undefined ? null : creditBucket(replaced.group, estimator)[replaced.group.indexOf(replaced.own)] ?? null;
    return estimateOf(name, replaced?.id, credit, 'no other message was sampled in its place and continued to a return');
  };
  return [
    against('replace', 'loo'),
    estimateOf('remove', removed?.id, removed === undefined ? null : removal(removed.own, removed.emptied), empty ? 'the message is empty already' : 'it was not replayed with nothing in its place'),
    against('fullMean', 'full_mean'),
  ];
}

function estimateOf(name: EstimateName, bucket: number | undefined, credit: Credit | null, reason: string): MessageEstimate {
  return credit === null || bucket === undefined ? { name, bucket: null, credit: null, reason } : { name, bucket, credit, reason: null };
}

const returnsIn = (group: readonly CreditInput[]): number => group.reduce((sum, { returns }) => sum + unmasked(returns).length, 0);

/** The last of the largest. */
function best<Item>(items: readonly Item[], size: (item: Item) => number): Item | undefined {
  return items.reduce<Item | undefined>((found, item) => (found === undefined || size(item) >= size(found) ? item : found), undefined);
}

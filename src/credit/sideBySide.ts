/**
 * The credits of one message by replacing it, by removing it and against the mean of all, each pooled
 * over the buckets of its own continuation distribution.
 */

import type { EstimateName, MessageEstimate } from '../domain/credit.ts';
import type { Credit } from '../shared/credit/credit.ts';
import type { Headline } from '../shared/credit/headline.ts';
import { unmasked } from './aggregate.ts';
import { bettingInterval } from './betting.ts';
import type { CreditInput } from './estimator.ts';
import type { BucketEvidence } from './pairing.ts';

/** The credit by removal. It compares two messages of a bucket and is not an estimator of a group. */
export const REMOVAL = { name: 'remove', label: 'remove (empty message)' } as const;

export interface ComparedAlternative extends CreditInput {
  readonly message: number;
  readonly text: string;
  readonly finish: 'end' | 'length' | 'typed';
  /** Its headline credit in the pool of the bucket. */
  readonly credit: Headline | null;
}

export interface ComparedBucket {
  readonly id: number;
  readonly alternatives: readonly ComparedAlternative[];
}

/** A message and the empty message in its place, in one bucket. */
export interface RemovalPair {
  readonly kept: CreditInput;
  readonly emptied: CreditInput;
}

const hasReturn = ({ returns }: CreditInput): boolean => unmasked(returns).length > 0;
export const isEmptied = ({ finish, text }: Pick<ComparedAlternative, 'finish' | 'text'>): boolean =>
  finish === 'typed' && text.trim() === '';

/**
 * Returns the largest possible difference of two returns. Every message scored from here on gives 0 to
 * 1; scores from before are the same in both. The number of scored messages is the largest number of
 * calls per return on either side.
 */
function findRemovalSpan(pairs: readonly RemovalPair[]): number {
  const sides = pairs.flatMap(({ kept, emptied }) => [kept, emptied]).filter(({ returns }) => returns.length > 0);
  return Math.max(1, ...sides.map(({ returns, evaluatorCalls }) => Math.ceil(evaluatorCalls / returns.length)));
}

/**
 * Returns the difference between a message's returns and those with nothing in its place, pooled over
 * buckets, with its betting interval.
 *
 * The empty text is fixed, so every stream that continued both is one independent unit. n counts both
 * sides of these.
 * @param pairs one of each bucket, in the order of the buckets
 * @returns null if no stream continued both
 */
export function creditRemoval(pairs: readonly RemovalPair[]): Credit | null {
  const evidence = pairs.map(({ kept, emptied }) => compareWithEmptied(kept, emptied)).filter(({ units }) => units > 0);
  const cells = evidence.flatMap((bucket) => bucket.cells);
  if (cells.length === 0) {
    return null;
  }
  const value = cells.reduce((sum, cell) => sum + cell, 0) / cells.length;
  const evaluatorCalls = pairs.reduce(
    (sum, { kept, emptied }) => sum + kept.evaluatorCalls + emptied.evaluatorCalls,
    0,
  );
  const base = { estimator: REMOVAL.name, value, n: 2 * cells.length, evaluatorCalls };
  const span = findRemovalSpan(pairs);
  if (cells.some((cell) => Math.abs(cell) > span)) {
    return { ...base, low: null, high: null, interval: 'none' };
  }
  const { low, high } = bettingInterval(evidence, span);
  return { ...base, low: Math.min(low, value), high: Math.max(high, value), interval: 'betting' };
}

function compareWithEmptied(kept: CreditInput, emptied: CreditInput): BucketEvidence {
  const cells = kept.returns.flatMap((value, stream) => {
    const gone = emptied.returns[stream] ?? null;
    return value === null || gone === null ? [] : [value - gone];
  });
  return { assignments: [cells], cells, units: cells.length };
}

/**
 * Returns the estimates of a message, in the order of their names.
 *
 * Replace is its headline credit. The full mean differs from it by the message's own share of the
 * baseline: the factor is (C - c) / C if c of C returns are its own. Messages that a person typed were
 * not drawn from the policy and are left out.
 * @param headline the credit that the message shows
 * @param buckets of the message's own continuation distribution, oldest first; those without the
 *   message do not count
 */
export function compareEstimators(
  message: number,
  headline: Headline | null,
  buckets: readonly ComparedBucket[],
): readonly MessageEstimate[] {
  const found = buckets.flatMap(({ id, alternatives }) => {
    const own = alternatives.find(({ message: one }) => one === message);
    return own === undefined || !hasReturn(own) ? [] : [{ id, own, alternatives }];
  });
  const empty = found.some(({ own }) => own.text.trim() === '');
  const compared = found.filter(({ own, alternatives }) =>
    alternatives.some((one) => one !== own && one.finish !== 'typed' && hasReturn(one)),
  );
  const removals = found.flatMap(({ id, own, alternatives }) => {
    const emptied = empty ? undefined : alternatives.find((one) => isEmptied(one) && hasReturn(one));
    return emptied === undefined ? [] : [{ id, kept: own, emptied }];
  });
  const replaced = headline === null || headline.verdict === 'alone' ? null : headline;
  const alone = 'no other message was sampled in its place and continued to a return';
  return [
    toMessageEstimate('replace', compared.at(-1)?.id, replaced, alone),
    {
      ...toMessageEstimate(
        'remove',
        removals.at(-1)?.id,
        creditRemoval(removals),
        empty ? 'the message is empty already' : 'it was not replayed with nothing in its place',
      ),
      measurable: !empty,
    },
    toMessageEstimate(
      'fullMean',
      compared.at(-1)?.id,
      replaced === null ? null : toFullMean(replaced, compared),
      alone,
    ),
  ];
}

function toFullMean(
  headline: Headline,
  buckets: readonly { readonly own: ComparedAlternative; readonly alternatives: readonly ComparedAlternative[] }[],
): Credit {
  let own = 0;
  let all = 0;
  for (const bucket of buckets) {
    own += unmasked(bucket.own.returns).length;
    for (const one of bucket.alternatives) {
      if (one === bucket.own || one.finish !== 'typed') {
        all += unmasked(one.returns).length;
      }
    }
  }
  const share = all === 0 ? 0 : (all - own) / all;
  const scaled = (value: number | null): number | null => (value === null ? null : value * share);
  const { value, low, high, n, evaluatorCalls, interval } = headline;
  return {
    estimator: 'full_mean',
    value: value * share,
    low: scaled(low),
    high: scaled(high),
    n,
    evaluatorCalls,
    interval,
  };
}

function toMessageEstimate(
  name: EstimateName,
  bucket: number | undefined,
  credit: Credit | null,
  reason: string,
): MessageEstimate {
  const measured =
    credit === null ? { bucket: null, credit: null, reason } : { bucket: bucket ?? null, credit, reason: null };
  return { name, ...measured, measurable: true };
}

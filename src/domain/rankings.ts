/** Buckets in the order in which they are worth looking at. */
import type { OtherContinuation } from './continuation.ts';
import { list, literal, object, text, type Guarded } from '../shared/guard.ts';
import type { Headline } from '../shared/credit/headline.ts';
import type { BucketOrigin } from './records.ts';

/**
 * clearest: credits whose interval leaves 0 first, then the others, each by the amount over the width of the interval
 * (src/shared/credit/order.ts); credit: largest credit by amount first; spread: returns furthest apart first; distance:
 * replacing and removing a message disagree most first.
 */
export const BUCKET_ORDERS = ['clearest', 'credit', 'spread', 'distance'] as const;
export type BucketOrder = (typeof BUCKET_ORDERS)[number];

/** A message that an empty one took the place of, and what it was worth either way. */
export interface Removal {
  readonly message: number;
  /** Against other messages in its place. */
  readonly replace: number;
  /**
   * Against none: the mean difference of returns with the message and with nothing in its place, over the streams that
   * continued both.
   */
  readonly remove: number;
}

/** A bucket with what it is ranked by; null is not measured. */
export interface RankedBucket {
  readonly bucket: number;
  readonly origin: BucketOrigin;
  readonly iteration: number;
  readonly role: string;
  readonly turn: number;
  readonly question: string;
  /** Unmasked returns in the bucket, and their standard deviation; null for fewer than two. */
  readonly returns: number;
  readonly spread: number | null;
  /**
   * The message to open: the removed one where distance is the order, else that of the clearest credit (of the largest,
   * where that is the order), else the one asked about, else the first. Null in an empty bucket.
   */
  readonly message: number | null;
  /** The start of its text, and its credit. */
  readonly text: string;
  readonly credit: Headline | null;
  /** The removal with the largest distance, of a message of this bucket. */
  readonly removal: Removal | null;
  /** How it was continued where that is not how its message was made. */
  readonly continuation: OtherContinuation | null;
}

/** Which buckets of a run are shown: nothing chosen of a kind leaves that kind open. */
export const isBucketFilter = object({
  roles: list(text(200), 200),
  origins: list(literal('training', 'request', 'diagnostic'), 3),
  /** Whether any of its messages has a credit. */
  credit: list(literal('measured', 'not measured'), 2),
});
export type BucketFilter = Guarded<typeof isBucketFilter>;

export const ALL_BUCKETS: BucketFilter = { roles: [], origins: [], credit: [] };

/** So many buckets of a run are alike in all that they can be filtered by. */
export interface BucketKind {
  readonly role: string;
  readonly origin: BucketOrigin;
  readonly credit: BucketFilter['credit'][number];
  readonly count: number;
}

/** Whether a bucket of this kind is shown. */
export function passes({ roles, origins, credit }: BucketFilter, kind: BucketKind): boolean {
  const open = (chosen: readonly string[], value: string): boolean => chosen.length === 0 || chosen.includes(value);
  return open(roles, kind.role) && open(origins, kind.origin) && open(credit, kind.credit);
}

/** How far replacing and removing a message disagree on what it is worth. */
export function distanceOf({ replace, remove }: Removal): number {
  return Math.abs(replace - remove);
}

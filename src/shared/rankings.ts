/** Buckets in the order in which they are worth looking at. */
import type { OtherContinuation } from './continuation.ts';
import type { BucketOrigin, Credit } from './records.ts';

/** credit: largest credit by amount first; spread: returns furthest apart first; distance: replacing and removing a message disagree most first. */
export const BUCKET_ORDERS = ['credit', 'spread', 'distance'] as const;
export type BucketOrder = (typeof BUCKET_ORDERS)[number];

/** A message that an empty one took the place of, and what it was worth either way. */
export interface Removal {
  readonly message: number;
  /** Against other messages in its place. */
  readonly replace: number;
  /** Against none: mean return with the message less mean return with nothing in its place. */
  readonly remove: number;
}

/** A bucket with what it is ranked by; null is not measured. */
export interface RankedBucket {
  readonly bucket: number;
  readonly origin: BucketOrigin;
  readonly iteration: number;
  readonly eventType: string;
  readonly turn: number;
  readonly question: string;
  /** Unmasked returns in the bucket, and their standard deviation; null for fewer than two. */
  readonly returns: number;
  readonly spread: number | null;
  /** The message to open: the removed one where distance is the order, else that of the largest credit, else the one asked about, else the first. Null in an empty bucket. */
  readonly message: number | null;
  /** The start of its text, and its credit. */
  readonly text: string;
  readonly credit: Credit | null;
  /** The removal with the largest distance, of a message of this bucket. */
  readonly removal: Removal | null;
  /** How it was continued where that is not how its message was made. */
  readonly continuation: OtherContinuation | null;
}

/** How far replacing and removing a message disagree on what it is worth. */
export function distanceOf({ replace, remove }: Removal): number {
  return Math.abs(replace - remove);
}

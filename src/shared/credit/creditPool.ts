/**
 * What a headline credit is computed from: everything that was replayed in one context under one continuation
 * distribution. Plain data.
 */

/** One result: what one continuation of a message returned. */
export interface PoolResult {
  /** Which random stream of its bucket continued the message, from 0: results on one stream are paired. */
  readonly stream: number;
  /**
   * Equal for two results of equal messages that cannot differ, because they drew the same numbers; null where nothing
   * is known to be shared.
   */
  readonly source: string | null;
  /** Null where the evaluator failed. */
  readonly value: number | null;
  readonly evaluatorCalls: number;
}

/** One message in one bucket. */
export interface PoolMember {
  /** Equal for messages of equal tokens, which are one alternative. */
  readonly key: string;
  /**
   * Whether the policy drew it for this bucket: only then it belongs in a baseline. A typed message and one that a
   * person chose do not.
   */
  readonly drawn: boolean;
  /**
   * The very draw of an earlier bucket, on the same numbers in the same context: it shows nothing new and counts
   * nowhere.
   */
  readonly repeated?: boolean;
  readonly results: readonly PoolResult[];
}

/** Messages sampled, typed or chosen together; another bucket's are independent of them, repeated ones apart. */
export interface PoolBucket {
  readonly id: number;
  readonly members: readonly PoolMember[];
}

/** The least and the largest return that there can be. */
export interface ReturnRange {
  readonly low: number;
  readonly high: number;
}

export interface CreditPool {
  /** In the order of their ids. */
  readonly buckets: readonly PoolBucket[];
  /** Whether the message ends the episode, so that its return is a function of its text. */
  readonly terminal: boolean;
  /** Null where it is not known. */
  readonly range: ReturnRange | null;
}

/** The input of a headline credit: all replays in one context under one continuation distribution. Plain data. */

/** The result of one continuation of a message. */
export interface PoolResult {
  /** Index of the random stream in its bucket, from 0. Results on one stream are paired. */
  readonly stream: number;
  /**
   * Equal for two results of equal messages that cannot differ, because they drew the same numbers; null
   * if nothing is known to be shared.
   */
  readonly source: string | null;
  /** Null if the evaluator failed. */
  readonly value: number | null;
  readonly evaluatorCalls: number;
}

/** One message in one bucket. */
export interface PoolMember {
  /** Equal for messages with equal tokens, which are one alternative. */
  readonly key: string;
  /**
   * True if the policy drew it for this bucket. Only then it belongs in a baseline; typed messages and
   * those that a person chose do not.
   */
  readonly drawn: boolean;
  /**
   * True for the same draw as in an earlier bucket, on the same numbers in the same context: it adds no
   * information and does not count.
   */
  readonly repeated?: boolean;
  readonly results: readonly PoolResult[];
}

/**
 * Messages sampled, typed or chosen together. Except for repeated messages, buckets are independent of
 * each other.
 */
export interface PoolBucket {
  readonly id: number;
  readonly members: readonly PoolMember[];
}

/** The least and the largest possible return. */
export interface ReturnRange {
  readonly low: number;
  readonly high: number;
}

export interface CreditPool {
  /** In the order of their ids. */
  readonly buckets: readonly PoolBucket[];
  /** True if the message ends the episode, so that its return is a function of its text. */
  readonly terminal: boolean;
  /** Null if it is unknown. */
  readonly range: ReturnRange | null;
}

/** The one credit that a message shows everywhere, pooled over all replays in its context, and its words. Pure. */

import type { Credit } from './credit.ts';

/**
 * helped, hurt: the whole interval lies above or below 0. alone: no other message was sampled, so
 * there is nothing to compare.
 */
export const VERDICTS = ['helped', 'hurt', 'undecided', 'alone'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** Largest number of further replays that is estimated. */
export const MOST_MORE = 1000;

/**
 * How much better episodes end with this message than with the other messages sampled in the same context: its mean
 * return minus theirs, without the message itself. All replays of one context under the same weights count together.
 * @term credit
 * @see C3, eq. 13 to 15, leave-one-out; its interval stays valid however often it is looked at
 */
export interface Headline extends Credit {
  /**
   * The number of independent pieces of evidence behind the interval. Results that share a stream, or
   * are compared with the same message, count together.
   * @term effectiveN effective n
   */
  readonly effectiveN: number;
  /** Results that were taken from an equal message on an equal stream instead of a new evaluation. */
  readonly reused: number;
  /** Number of draws of this text in the pool; 0 for a text that was only typed. */
  readonly copies: number;
  readonly verdict: Verdict;
  /**
   * Approximate number of further replays that would settle it; 0 if it is settled, null if unknown or
   * more than MOST_MORE.
   */
  readonly more: number | null;
  /** The reason why the interval has no bounds, or null if it has. */
  readonly reason: string | null;
}

/** The form of a headline in JSON documents; the value is null if there was nothing to compare. */
export interface HeadlineJson {
  readonly value: number | null;
  readonly low: number | null;
  readonly high: number | null;
  readonly n: number;
  readonly effectiveN: number;
  readonly verdict: Verdict;
  readonly more: number | null;
  readonly sentence: string;
}

/** A smaller value is described as no difference if settling it is out of reach. */
const NO_DIFFERENCE = 0.05;

/** Describes a headline in words: `helped`, `undecided: about 12 more replays would settle it`. */
export function describeHeadline({
  verdict,
  more,
  value,
  reason,
}: Pick<Headline, 'verdict' | 'more' | 'value' | 'reason'>): string {
  if (verdict === 'alone') {
    return 'no other message was sampled here';
  }
  if (verdict !== 'undecided') {
    return verdict;
  }
  if (reason !== null) {
    return `undecided: ${reason}`;
  }
  if (more !== null) {
    return `undecided: about ${more} more ${more === 1 ? 'replay' : 'replays'} would settle it`;
  }
  const seen = Math.abs(value) < NO_DIFFERENCE ? 'no difference seen; ' : '';
  return `undecided: ${seen}more than ${MOST_MORE.toLocaleString('en-US')} replays would be needed`;
}

/** Returns true if the interval excludes 0. */
export const isDecided = ({ verdict }: Pick<Headline, 'verdict'>): boolean =>
  verdict === 'helped' || verdict === 'hurt';

/** Returns true if an interval does not decide the sign of a credit: it contains 0, or there is none. */
export const isSignOpen = ({ low, high }: Pick<Credit, 'low' | 'high'>): boolean =>
  low === null || high === null || (low <= 0 && high >= 0);

/** Returns the bound nearest to 0, with its sign, if the interval excludes 0; otherwise 0. */
export function distanceFromZero({ verdict, low, high }: Pick<Headline, 'verdict' | 'low' | 'high'>): number {
  if (verdict === 'helped') {
    return low ?? 0;
  }
  return verdict === 'hurt' ? (high ?? 0) : 0;
}

/** Returns the form of a headline in JSON documents. */
export function toHeadlineJson(headline: Headline): HeadlineJson {
  const { value, low, high, n, effectiveN, verdict, more } = headline;
  return {
    value: verdict === 'alone' ? null : value,
    low,
    high,
    n,
    effectiveN,
    verdict,
    more,
    sentence: describeHeadline(headline),
  };
}

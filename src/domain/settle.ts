/** Settling a credit: paired replays until it is decided, as few as that takes. */
import type { BucketView } from './records.ts';

/** Replays that one settling request may spend. */
export const SETTLE_LIMITS = { least: 4, most: 1000 } as const;

/** Asks for paired replays of a message instead of a fixed number of alternatives and continuations. */
export interface Settle {
  /** Spends at most so many replays, and stops as soon as the credit is decided. */
  readonly replays: number;
}

/** What a request gave: its bucket. */
export interface ReplayResult extends BucketView {
  /**
   * Replays that settling spent, reused ones among them; fewer than allowed where the credit was decided before. Absent
   * where nothing was to be settled.
   */
  readonly spent?: number;
}

/**
 * What settling may spend unless it is said: what a headline expects, within the limits.
 * @param more of the headline; null where nothing is expected to be enough
 */
export const settleReplays = (more: number | null): number =>
  Math.min(SETTLE_LIMITS.most, Math.max(SETTLE_LIMITS.least, more ?? SETTLE_LIMITS.most));

/**
 * Pairs of an alternative and the message itself that fit into so many replays: where the text of a message settles its
 * return, its own is known, and a pair takes one.
 */
export const pairsOf = (replays: number, terminal: boolean): number => (terminal ? replays : Math.floor(replays / 2));

/** Why this cannot be settled so, in one sentence; null where it can. */
export function settleProblem({
  settle,
  text,
  independent,
}: {
  readonly settle?: Settle | undefined;
  readonly text: string | null;
  readonly independent?: boolean | undefined;
}): string | null {
  if (settle === undefined) {
    return null;
  }
  const { least, most } = SETTLE_LIMITS;
  if (!Number.isInteger(settle.replays) || settle.replays < least || settle.replays > most) {
    return `Settling takes a whole number of replays from ${String(least)} to ${most.toLocaleString('en-US')}.`;
  }
  if (text !== null) {
    return 'A credit is settled against sampled messages only; replay the text first, then settle the message that it has become.';
  }
  return independent === true
    ? 'Settling pairs an alternative with the message itself on common random numbers; leave out the independent ones.'
    : null;
}

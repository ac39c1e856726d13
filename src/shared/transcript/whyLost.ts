/**
 * The summary of a lost episode: the message that decided it, or may have, and the best one sampled in
 * its place. Pure.
 */

import type { Headline } from '../credit/headline.ts';
import { compareLowness, mayBeLowest } from '../credit/order.ts';
import type { Outcome } from '../credit/returns.ts';

/** A message in the summary; its text is cut if it is too long for a comparison. */
export interface WhyMessage {
  readonly message: number;
  readonly role: string;
  readonly turn: number;
  readonly text: string;
  /** True if a user typed it. */
  readonly typed: boolean;
  readonly return: number | null;
  readonly credit: Headline;
}

export interface WhyLost {
  /** The last message of the episode; `return` is the episode's return. */
  readonly leaf: number;
  readonly return: number;
  readonly outcome: Exclude<Outcome, 'won'>;
  /** True for the first message whose whole interval is below 0; false for the clearest candidate. */
  readonly decided: boolean;
  /** Null if no message of the episode was compared with others. */
  readonly decisive: WhyMessage | null;
  /** The alternative with the highest credit; null if none has a higher credit than the message. */
  readonly best: WhyMessage | null;
}

/** A message with the credit that decides. */
export type Credited = { readonly credit: Headline | null };

/**
 * Returns the message that decided a lost episode: the first in order that hurt, or else the clearest
 * candidate, which is the lowest of the undecided ones.
 * @returns null if no message was compared with others
 */
export function findDecisive<M extends Credited>(
  messages: readonly M[],
): { readonly message: M; readonly decided: boolean } | null {
  const hurt = messages.find(({ credit }) => credit?.verdict === 'hurt');
  if (hurt !== undefined) {
    return { message: hurt, decided: true };
  }
  const [first] = messages
    .flatMap((message, id) => (mayBeLowest(message.credit) ? [{ id, message, credit: message.credit }] : []))
    .toSorted(compareLowness);
  return first === undefined ? null : { message: first.message, decided: false };
}

/**
 * Returns the alternative with the highest credit among those with another text, if it is higher than
 * the message's own; otherwise null.
 */
export function findBestAlternative<A extends Credited & { readonly text: string }>(
  of: { readonly text: string; readonly credit: Headline },
  alternatives: readonly A[],
): A | null {
  let best: A | null = null;
  let highest = of.credit.value;
  for (const alternative of alternatives) {
    const { credit, text } = alternative;
    if (credit === null || credit.verdict === 'alone' || text === of.text || credit.value <= highest) {
      continue;
    }
    best = alternative;
    highest = credit.value;
  }
  return best;
}

/**
 * What is said of a lost episode: the message that decided it, or may have, and the best that was sampled in its place.
 * Pure.
 */
import type { Headline } from '../credit/headline.ts';

/** A message in the summary; its text is cut where it is too long to be compared. */
export interface WhyMessage {
  readonly message: number;
  readonly role: string;
  readonly turn: number;
  readonly text: string;
  /** A user typed it. */
  readonly typed: boolean;
  readonly return: number | null;
  readonly credit: Headline;
}

export interface WhyLost {
  /** The last message of the episode, and what the episode returned: less than 1. */
  readonly leaf: number;
  readonly return: number;
  /** True for the first message whose whole interval is below 0; false for the clearest candidate. */
  readonly decided: boolean;
  /** Null where no message of the episode was compared with others. */
  readonly decisive: WhyMessage | null;
  /** The alternative with the highest credit; null where none has a higher one than the message. */
  readonly best: WhyMessage | null;
}

/** What an episode's messages are looked through for. */
export type Credited = { readonly credit: Headline | null };

/**
 * The message that decided a lost episode: the first in order that hurt; where there is none, the clearest candidate,
 * which is the undecided one whose upper bound is smallest, then the one with the smallest credit. One without bounds
 * comes after those, and one whose credit is not below 0 last: what was measured so far speaks for it.
 * @returns null where no message was compared with others
 */
export function decisiveOf<M extends Credited>(
  messages: readonly M[],
): { readonly message: M; readonly decided: boolean } | null {
  const hurt = messages.find(({ credit }) => credit?.verdict === 'hurt');
  if (hurt !== undefined) {
    return { message: hurt, decided: true };
  }
  const order = ({ credit }: M): readonly number[] => {
    const value = credit?.value ?? 0;
    return [value < 0 ? 0 : 1, credit?.high ?? Infinity, value];
  };
  const [first] = messages
    .filter(({ credit }) => credit?.verdict === 'undecided')
    .toSorted((a, b) => {
      const [left, right] = [order(a), order(b)];
      const at = left.findIndex((value, index) => value !== right[index]);
      return at === -1 ? 0 : (left[at] ?? 0) - (right[at] ?? 0);
    });
  return first === undefined ? null : { message: first, decided: false };
}

/**
 * The alternative with the highest credit among those with another text, where that is higher than the message's own;
 * null where there is none.
 */
export function bestOf<A extends Credited & { readonly text: string }>(
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

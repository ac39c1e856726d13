/** Two branches of transcripts, and the place where they diverge. Pure. */

import type { Outcome } from '../credit/returns.ts';

/** One message between the question and the end of an episode. */
export interface BranchMessage {
  readonly message: number;
  readonly role: string;
  readonly turn: number;
  readonly text: string;
  readonly tokens: number;
  /** Mean return of the scored messages at or below it; null if there are none. */
  readonly return: number | null;
}

/** A path through a transcript: down to a message and on to the end of its first continuation. */
export interface Branch {
  /** The message that selected it. */
  readonly message: number;
  /** A title that distinguishes it from others: `Step 1, actor 2 of 4`. */
  readonly title: string;
  readonly question: string;
  readonly messages: readonly BranchMessage[];
  /** Return of the end of the branch; null if it was not scored or was masked. */
  readonly return: number | null;
  /** Present if the user gave the return. */
  readonly byHand?: true;
  /** Outcome of the branch; null if it was not scored or was masked. */
  readonly outcome: Outcome | null;
  /** Number of further continuations of the selected message. */
  readonly otherContinuations: number;
}

/** The place where two branches diverge. */
export type Parting =
  | { readonly kind: 'same' }
  | { readonly kind: 'question'; readonly character: number }
  /**
   * Both have a message there. Their texts differ from this character on, counted from 0 in code points,
   * or their roles differ.
   */
  | { readonly kind: 'text'; readonly index: number; readonly character: number }
  | { readonly kind: 'role'; readonly index: number }
  /** One branch ends, and the other continues. */
  | { readonly kind: 'end'; readonly index: number };

/** Returns the first message and character at which two branches differ. */
export function findParting(left: Branch, right: Branch): Parting {
  const question = findFirstDifference(left.question, right.question);
  if (question !== null) {
    return { kind: 'question', character: question.character };
  }
  for (let index = 0; index < Math.max(left.messages.length, right.messages.length); index++) {
    const one = left.messages[index];
    const other = right.messages[index];
    if (one === undefined || other === undefined) {
      return { kind: 'end', index };
    }
    if (one.role !== other.role) {
      return { kind: 'role', index };
    }
    const difference = findFirstDifference(one.text, other.text);
    if (difference !== null) {
      return { kind: 'text', index, character: difference.character };
    }
  }
  return { kind: 'same' };
}

/**
 * Returns the first difference of two texts, in code points and in UTF-16 units, never inside a
 * surrogate pair. Null for equal texts.
 */
export function findFirstDifference(
  left: string,
  right: string,
): { readonly character: number; readonly unit: number } | null {
  const shorter = Math.min(left.length, right.length);
  let unit = 0;
  let character = 0;
  while (unit < shorter) {
    const code = left.codePointAt(unit);
    if (code === undefined || code !== right.codePointAt(unit)) {
      break;
    }
    unit += code > 0xffff ? 2 : 1;
    character++;
  }
  return unit >= left.length && unit >= right.length ? null : { character, unit };
}

/** Returns the total tokens and characters of a branch's messages; characters are code points. */
export function measureBranch(branch: Branch): {
  readonly messages: number;
  readonly tokens: number;
  readonly characters: number;
} {
  return {
    messages: branch.messages.length,
    tokens: branch.messages.reduce((sum, message) => sum + message.tokens, 0),
    characters: branch.messages.reduce((sum, message) => sum + countCodePoints(message.text), 0),
  };
}

function countCodePoints(text: string): number {
  let points = 0;
  for (let unit = 0; unit < text.length; unit += (text.codePointAt(unit) ?? 0) > 0xffff ? 2 : 1) {
    points++;
  }
  return points;
}

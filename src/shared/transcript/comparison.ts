/** The comparison of two branches in a panel: the place where they diverge, their returns and lengths. Pure. */

import type { Outcome } from '../credit/returns.ts';
import { findFirstDifference, measureBranch, findParting, type Branch, type Parting } from './branches.ts';

/** UTF-16 units shown before and after the first difference. */
const BEFORE = 160;
const AFTER = 480;

export interface ComparedSide {
  readonly message: number;
  readonly title: string;
  readonly return: number | null;
  /** Present if the user gave the return. */
  readonly byHand?: true;
  readonly outcome: Outcome | null;
  readonly otherContinuations: number;
  readonly messages: number;
  readonly tokens: number;
  readonly characters: number;
  /** The message at which the branches diverge; null if this branch has none there. */
  readonly parted: {
    readonly message: number;
    readonly role: string;
    readonly cut: boolean;
    readonly before: string;
    readonly rest: string;
    readonly more: boolean;
  } | null;
}

export interface Comparison {
  readonly left: ComparedSide;
  readonly right: ComparedSide;
  readonly parting: Parting;
}

/** Compares two branches. */
export function compareBranches(left: Branch, right: Branch): Comparison {
  const parting = findParting(left, right);
  return { left: toComparedSide(left, right, parting), right: toComparedSide(right, left, parting), parting };
}

function toComparedSide(own: Branch, other: Branch, parting: Parting): ComparedSide {
  const { message, title, outcome, otherContinuations } = own;
  return {
    message,
    title,
    return: own.return,
    ...(own.byHand === true && { byHand: true }),
    outcome,
    otherContinuations,
    ...measureBranch(own),
    parted: 'index' in parting ? cutAtParting(own, other, parting.index) : null,
  };
}

function cutAtParting(own: Branch, other: Branch, index: number): ComparedSide['parted'] {
  const mine = own.messages[index];
  if (mine === undefined) {
    return null;
  }
  const from = findFirstDifference(mine.text, other.messages[index]?.text ?? '')?.unit ?? mine.text.length;
  const start = avoidSurrogateCut(mine.text, Math.max(0, from - BEFORE));
  const end = avoidSurrogateCut(mine.text, Math.min(mine.text.length, from + AFTER));
  return {
    message: mine.message,
    role: mine.role,
    cut: start > 0,
    before: mine.text.slice(start, from),
    rest: mine.text.slice(from, end),
    more: end < mine.text.length,
  };
}

/** Returns the same offset, or the one before it if a surrogate pair would be cut. */
function avoidSurrogateCut(text: string, unit: number): number {
  const code = text.charCodeAt(unit);
  return unit > 0 && code >= 0xdc00 && code <= 0xdfff ? unit - 1 : unit;
}

/** Describes the place where two branches diverge in one sentence. */
export function describeParting({ parting, left, right }: Comparison): string {
  switch (parting.kind) {
    case 'same':
      return 'Both are the same, to the last character.';
    case 'question':
      return `They answer different questions, from character ${parting.character + 1} on.`;
    case 'text':
      return `They diverge in message ${parting.index + 1} (${left.parted?.role ?? ''}), at character ${parting.character + 1}.`;
    case 'role':
      return `They diverge in message ${parting.index + 1}: ${left.parted?.role ?? ''} speaks in the first, ${right.parted?.role ?? ''} in the second.`;
    case 'end':
      return `They are the same for ${parting.index} ${parting.index === 1 ? 'message' : 'messages'}; then ${left.parted === null ? 'the first' : 'the second'} ends.`;
  }
}

/**
 * Infers the protocol of one recorded episode from its log: the order of the speakers, and which
 * parts of each input repeat earlier texts. A text that repeats nothing is taken as recorded.
 */

import type { ChatMessage } from '../chat/messages.ts';
import { readContextText } from './contextForm.ts';

/** A literal text, or a reference to the question or to an earlier step by its number, from 1. */
export type TextPart = string | { readonly of: 'question' | number };

/** A message of a role's input. */
export interface SeenMessage {
  readonly as: ChatMessage['role'];
  readonly name?: string | undefined;
  readonly text: readonly TextPart[];
}

/** A role's next message, or an event from outside, whose text is unknown unless given. */
export type EpisodeStep =
  | { readonly role: string; readonly sees: readonly SeenMessage[] }
  | { readonly event: string; readonly text?: string | undefined };

export type EpisodeEntry =
  | { readonly kind: 'message'; readonly role: string; readonly context: string; readonly text: string }
  | { readonly kind: 'event'; readonly source: string; readonly text: string };

/** The most steps of one episode that are inferred. Each text is searched for in all later ones. */
export const MOST_STEPS = 256;
/** Texts shorter than this occur in many others, so they count only as whole lines. */
const SHORT = 12;

interface Known {
  readonly of: 'question' | number;
  readonly text: string;
}

/**
 * Returns the steps of an episode.
 * @returns null if the input of a role was not recorded as a whole, or if there are more than
 *   `MOST_STEPS` steps
 */
export function inferSteps(question: string, entries: readonly EpisodeEntry[]): EpisodeStep[] | null {
  // Entries after the last message had no effect on any message.
  const end = entries.findLastIndex(({ kind }) => kind === 'message') + 1;
  if (end > MOST_STEPS) {
    return null;
  }
  const known: Known[] = [{ of: 'question', text: question }];
  const steps: EpisodeStep[] = [];
  for (const entry of entries.slice(0, end)) {
    if (entry.kind === 'event') {
      steps.push({ event: entry.source });
    } else {
      const seen = readContextText(entry.context);
      if (seen === null) {
        return null;
      }
      steps.push({ role: entry.role, sees: seen.map((message) => splitIntoParts(message, known)) });
    }
    known.push({ of: steps.length, text: entry.text });
  }
  return steps;
}

function splitIntoParts({ role, name, text }: ChatMessage, known: readonly Known[]): SeenMessage {
  // The longest text comes first, so that no text is taken for a part of it. Of equally long ones,
  // the newest does.
  const candidates = known
    .filter((one) => one.text.trim() !== '')
    .toSorted((a, b) => b.text.length - a.text.length || rank(b) - rank(a));
  let parts: TextPart[] = [text];
  for (const { of, text: wanted } of candidates) {
    parts = parts.flatMap((part) => (typeof part === 'string' ? split(part, wanted, of) : [part]));
  }
  return { as: role, ...(name !== null && { name }), text: parts.filter((part) => part !== '') };
}

const rank = ({ of }: Known): number => (of === 'question' ? 0 : of);

/** Splits a text at the places where another text stands apart, not within a word. */
function split(text: string, wanted: string, of: Known['of']): TextPart[] {
  const parts: TextPart[] = [];
  let from = 0;
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) {
    const end = at + wanted.length;
    const around = `${text[at - 1] ?? '\n'}${text[end] ?? '\n'}`;
    const isApart = wanted.length < SHORT ? around === '\n\n' : !/[\p{L}\p{N}]/u.test(around);
    if (at >= from && isApart) {
      parts.push(text.slice(from, at), { of });
      from = end;
    }
  }
  return [...parts, text.slice(from)];
}

/**
 * Returns the input of a role.
 * @param said texts of the steps so far, in order
 */
export function seenMessages(
  sees: readonly SeenMessage[],
  question: string,
  said: readonly string[],
): readonly ChatMessage[] {
  const textOf = (part: TextPart): string =>
    typeof part === 'string' ? part : part.of === 'question' ? question : (said[part.of - 1] ?? '');
  return sees.map(({ as, name = null, text }) => ({ role: as, name, text: text.map(textOf).join('') }));
}

/** Returns the numbers of the steps that no later step sees. Their texts change nothing after them. */
export function unseenSteps(steps: readonly EpisodeStep[]): number[] {
  const seen = new Set(
    steps.flatMap((step) =>
      'sees' in step
        ? step.sees.flatMap(({ text }) => text.flatMap((part) => (typeof part === 'string' ? [] : [part.of])))
        : [],
    ),
  );
  return steps.flatMap((_, index) => (index + 1 < steps.length && !seen.has(index + 1) ? [index + 1] : []));
}

/**
 * The protocol of one recorded episode, as far as its log shows it: who spoke next, and where what each saw is what was
 * said before. A text that repeats nothing before it is taken as it was recorded.
 */
import type { ChatMessage } from '../chat/messages.ts';
import { contextMessages } from './contextForm.ts';

/** A text as it is, or what was said before: the question, or the step of this number, from 1. */
export type TextPart = string | { readonly of: 'question' | number };

/** A message that a role is asked with. */
export interface SeenMessage {
  readonly as: ChatMessage['role'];
  readonly name?: string | undefined;
  readonly text: readonly TextPart[];
}

/** What comes next: a message of a role, or something from outside, whose text is not known unless it is given. */
export type EpisodeStep =
  | { readonly role: string; readonly sees: readonly SeenMessage[] }
  | { readonly event: string; readonly text?: string | undefined };

/** An entry of a recorded episode. */
export type EpisodeEntry =
  | { readonly kind: 'message'; readonly role: string; readonly context: string; readonly text: string }
  | { readonly kind: 'event'; readonly source: string; readonly text: string };

/** Steps of one episode that are inferred at most: each text is looked for in all that come after it. */
export const MOST_STEPS = 256;
/** Shorter texts are found in many others: they count where they are whole lines. */
const SHORT = 12;

interface Known {
  readonly of: 'question' | number;
  readonly text: string;
}

/**
 * The steps of an episode.
 * @returns null where what a role saw was not recorded as a whole, or there are more than 256 steps
 */
export function inferredSteps(question: string, entries: readonly EpisodeEntry[]): EpisodeStep[] | null {
  // What came after the last message had no effect on any.
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
      const seen = contextMessages(entry.context);
      if (seen === null) {
        return null;
      }
      steps.push({ role: entry.role, sees: seen.map((message) => seenAs(message, known)) });
    }
    known.push({ of: steps.length, text: entry.text });
  }
  return steps;
}

function seenAs({ role, name, text }: ChatMessage, known: readonly Known[]): SeenMessage {
  // Longest first, so that no text is taken for a part of it; of equal ones the newest.
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

/** A text around the places where another one is by itself, and no part of a word. */
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

/** What a role is asked with. @param said by the steps so far, in order */
export function seenMessages(
  sees: readonly SeenMessage[],
  question: string,
  said: readonly string[],
): readonly ChatMessage[] {
  const textOf = (part: TextPart): string =>
    typeof part === 'string' ? part : part.of === 'question' ? question : (said[part.of - 1] ?? '');
  return sees.map(({ as, name = null, text }) => ({ role: as, name, text: text.map(textOf).join('') }));
}

/** The numbers of steps that no later one sees: what is said there changes nothing after it. */
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

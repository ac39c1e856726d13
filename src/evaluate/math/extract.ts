/** Finds the answer that a message states. */

import { removeThinking } from '../../shared/text/thinking.ts';

/** The form in which the answer was stated. */
export type ExtractionRule = 'hash-line' | 'boxed' | 'answer-phrase' | 'no-answer';

/** Longer text is not an answer. The limit also keeps the search linear in the text. */
export const MAX_ANSWER_LENGTH = 1000;

export interface Extraction {
  /** Null exactly if the rule is no-answer. */
  readonly answer: string | null;
  readonly rule: ExtractionRule;
}

/** Remarks of a search. */
interface Notes {
  tooLong: boolean;
}

/**
 * Returns the answer that a text states. The first of these forms that occurs decides, and the last
 * one of its kind: `#### x`, to the end of its line; a balanced `\boxed{x}` or `\fbox{x}`;
 * "answer is x", "answer: x" or "answer = x" and 答案是 x, 答案为 x, 答案：x or 答：x, to the end of
 * the sentence. Emphasis, math delimiters and closing punctuation around x are dropped. Blank answers,
 * answers longer than MAX_ANSWER_LENGTH, and answers within thinking (`<think>`) do not count. The
 * last number of a message is not an answer: a cut or rambling message would score by luck, and
 * training would reward that.
 */
export function extractAnswer(text: string): Extraction {
  const { answer, rule } = extractWithNotes(text);
  return { answer, rule };
}

/** Like extractAnswer; tooLong is true if an answer longer than MAX_ANSWER_LENGTH was marked. */
export function extractWithNotes(message: string): Extraction & Readonly<Notes> {
  const text = removeThinking(message);
  const forms: readonly [ExtractionRule, (text: string, notes: Notes) => string | null][] = [
    ['hash-line', findLastHashLine],
    ['boxed', findLastBoxed],
    ['answer-phrase', findLastPhrase],
  ];
  const notes: Notes = { tooLong: false };
  for (const [rule, find] of forms) {
    const answer = find(text, notes);
    if (answer !== null) {
      return { answer, rule, ...notes };
    }
  }
  return { answer: null, rule: 'no-answer', ...notes };
}

/** Returns an answer without emphasis, math delimiters and closing punctuation; it may be empty. */
export function tidyAnswer(text: string): string {
  const wrapped = trimCharacters(text.trim(), '*` \t', '*` \t.,;。，；');
  const inner = /^\$([^$]+)\$$/u.exec(wrapped) ?? /^\\\((.+)\\\)$/u.exec(wrapped);
  return trimCharacters((inner?.[1] ?? wrapped).trim(), '', '.,;。，；');
}

function findLastHashLine(text: string, notes: Notes): string | null {
  return findLastAnswer(text.matchAll(/(?<!#)####(?!#)/gu), (start) =>
    readMarkedAnswer(readRestOfLine(text, start), notes),
  );
}

/** Makes one pass with a stack of open braces. Of nested boxes the inner one starts last and wins. */
function findLastBoxed(text: string, notes: Notes): string | null {
  const open: { readonly start: number; readonly boxed: boolean }[] = [];
  let answer: string | null = null;
  let answerStart = -1;
  for (const match of text.matchAll(/\\(?:boxed|fbox)\s?\{|\\[{}\\]|[{}]/gu)) {
    const token = match[0];
    if (token === '}') {
      const group = open.pop();
      if (group?.boxed === true && group.start > answerStart) {
        const content = readMarkedAnswer(text.slice(group.start, match.index), notes);
        answer = content ?? answer;
        answerStart = content === null ? answerStart : group.start;
      }
    } else if (token.endsWith('{') && token !== '\\{') {
      open.push({ start: match.index + token.length, boxed: token !== '{' });
    }
  }
  return answer;
}

function findLastPhrase(text: string, notes: Notes): string | null {
  const phrases = text.matchAll(
    /(?:\banswer[*_]{0,2}[ \t]{0,4}(?:is\b|[:=：])|答案?[*_]{0,2}[ \t]{0,4}(?:[:：]|(?<=答案[*_ \t]{0,6})(?:应该|应)?[是为為=]))/giu,
  );
  return findLastAnswer(phrases, (start) => {
    const rest = readRestOfLine(text, start).replace(/^[*_ \t]*[:：]/u, '');
    return readMarkedAnswer(rest.split(/\.(?=\s|$)|。/u, 1)[0] ?? '', notes);
  });
}

/**
 * Returns the answer after the last mark that has one. It searches from the end, so that a text of
 * only marks costs no more than its length.
 */
function findLastAnswer(marks: Iterable<RegExpExecArray>, answerFrom: (start: number) => string | null): string | null {
  const starts = Array.from(marks, (match) => match.index + match[0].length);
  for (const start of starts.reverse()) {
    const answer = answerFrom(start);
    if (answer !== null) {
      return answer;
    }
  }
  return null;
}

/** Returns the text from a position to the end of its line, at most one character more than the limit. */
function readRestOfLine(text: string, start: number): string {
  const rest = text.slice(start, start + MAX_ANSWER_LENGTH + 1);
  const end = rest.indexOf('\n');
  return end < 0 ? rest : rest.slice(0, end);
}

function readMarkedAnswer(text: string, notes: Notes): string | null {
  if (text.length > MAX_ANSWER_LENGTH) {
    notes.tooLong = true;
  }
  const answer = text.length > MAX_ANSWER_LENGTH ? '' : tidyAnswer(text);
  return answer === '' ? null : answer;
}

/** Not a regular expression: one anchored only at the end takes quadratic time on long runs. */
function trimCharacters(text: string, atStart: string, atEnd: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && atStart.includes(text.charAt(start))) {
    start++;
  }
  while (end > start && atEnd.includes(text.charAt(end - 1))) {
    end--;
  }
  return text.slice(start, end);
}

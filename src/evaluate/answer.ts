/** Finds the answer that a text states and compares it with the gold, exactly. */
import { C3Error } from '../shared/errors.ts';
import { parseRational, sameNumber } from './rational.ts';

/** Where the answer stood. */
export type ExtractionRule = 'hash-line' | 'boxed' | 'answer-phrase' | 'no-answer';

/** A longer stretch of text is no answer; the bound also keeps the search linear in the text. */
export const MAX_ANSWER_LENGTH = 1000;

export interface Extraction {
  /** Null exactly when the rule is no-answer. */
  readonly answer: string | null;
  readonly rule: ExtractionRule;
}

export interface Verdict {
  readonly score: 0 | 1;
  /** Where the answer stood and how it compared, such as `hash-line: equal numbers`; or `no-answer`. */
  readonly rule: string;
  readonly answer: string | null;
}

/**
 * The answer that a text states. The first of these that occurs decides: the last `#### x`, to its line's end; the last
 * balanced `\boxed{x}`; the last "answer is x", "answer: x" or "answer = x", to the end of its sentence.
 * Emphasis, math delimiters and closing punctuation around x are dropped; nothing blank or longer than MAX_ANSWER_LENGTH counts.
 * A last number somewhere is no answer: a cut or rambling message would score by luck, and training would reward that.
 */
export function extractAnswer(text: string): Extraction {
  const forms: readonly [ExtractionRule, (text: string) => string | null][] = [
    ['hash-line', lastHashLine],
    ['boxed', lastBoxed],
    ['answer-phrase', lastPhrase],
  ];
  for (const [rule, find] of forms) {
    const answer = find(text);
    if (answer !== null) {
      return { answer, rule };
    }
  }
  return { answer: null, rule: 'no-answer' };
}

/**
 * Grades a message against the gold: both as exact rationals where both are numbers (no rounding, no tolerance), else as
 * texts in NFC without regard to case or the amount of whitespace.
 * @param gold the expected answer; it may itself stand in one of extractAnswer's forms
 * @param prediction the whole message
 * @throws C3Error('input') for a blank gold, which no message could match
 */
export function gradeAnswer(gold: string, prediction: string): Verdict {
  const expected = extractAnswer(gold).answer ?? (tidy(gold) || gold.trim());
  if (expected === '') {
    throw new C3Error('input', 'Cannot grade against a blank gold answer: give the expected answer.');
  }
  const { answer, rule } = extractAnswer(prediction);
  if (answer === null) {
    return { score: 0, rule, answer };
  }
  const goldNumber = parseRational(expected);
  const answerNumber = parseRational(answer);
  const numbers = goldNumber !== null && answerNumber !== null;
  const equal = numbers ? sameNumber(goldNumber, answerNumber) : comparable(expected) === comparable(answer);
  return { score: equal ? 1 : 0, rule: `${rule}: ${equal ? 'equal' : 'different'} ${numbers ? 'numbers' : 'texts'}`, answer };
}

function lastHashLine(text: string): string | null {
  let answer: string | null = null;
  for (const match of text.matchAll(/(?<!#)####(?!#)/gu)) {
    answer = answerIn(restOfLine(text, match.index + match[0].length)) ?? answer;
  }
  return answer;
}

/** One pass with a stack of open braces; of nested boxes the inner one starts last and wins. */
function lastBoxed(text: string): string | null {
  const open: { readonly start: number; readonly boxed: boolean }[] = [];
  let answer: string | null = null;
  let answerStart = -1;
  for (const match of text.matchAll(/\\boxed\s?\{|\\[{}\\]|[{}]/gu)) {
    const token = match[0];
    if (token === '}') {
      const group = open.pop();
      if (group?.boxed === true && group.start > answerStart) {
        const content = answerIn(text.slice(group.start, match.index));
        answer = content ?? answer;
        answerStart = content === null ? answerStart : group.start;
      }
    } else if (token.endsWith('{') && token !== '\\{') {
      open.push({ start: match.index + token.length, boxed: token !== '{' });
    }
  }
  return answer;
}

function lastPhrase(text: string): string | null {
  let answer: string | null = null;
  for (const match of text.matchAll(/\banswer[*_]{0,2}[ \t]{0,4}(?:is\b|[:=：])/giu)) {
    const rest = restOfLine(text, match.index + match[0].length).replace(/^[ \t]*[:：]/u, '');
    answer = answerIn(rest.split(/[.。](?=\s|$)/u, 1)[0] ?? '') ?? answer;
  }
  return answer;
}

/** From a position to the end of its line, one character past the bound at most. */
function restOfLine(text: string, start: number): string {
  return text.slice(start, start + MAX_ANSWER_LENGTH + 1).split('\n', 1)[0] ?? '';
}

function answerIn(text: string): string | null {
  const answer = text.length > MAX_ANSWER_LENGTH ? '' : tidy(text);
  return answer === '' ? null : answer;
}

/** Drops emphasis, math delimiters and closing punctuation around an answer. */
function tidy(text: string): string {
  const wrapped = trimCharacters(text.trim(), '*` \t', '*` \t.,;。，；');
  const inner = /^\$([^$]+)\$$/u.exec(wrapped) ?? /^\\\((.+)\\\)$/u.exec(wrapped);
  return trimCharacters((inner?.[1] ?? wrapped).trim(), '', '.,;。，；');
}

/** By hand, since a pattern anchored at the end alone takes quadratic time on long runs. */
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

/** The form in which two texts are compared. */
function comparable(text: string): string {
  return text.normalize('NFC').replace(/\s+/gu, ' ').trim().toLowerCase();
}

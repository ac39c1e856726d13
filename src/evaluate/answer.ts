/** Compares the answer that a message states with the gold answer, as exact numbers or as texts. */

import { C3Error } from '../shared/errors.ts';
import { parseRational, isSameRational } from './math/exact/rational.ts';
import { extractAnswer, tidyAnswer } from './math/extract.ts';

export interface Verdict {
  readonly score: 0 | 1;
  /** The place of the answer and the result, such as `hash-line: equal numbers`; or `no-answer`. */
  readonly rule: string;
  readonly answer: string | null;
}

/**
 * Grades a message against the gold: as exact rationals if both answers are numbers (no rounding, no
 * tolerance), else as texts in NFC, ignoring case and the amount of whitespace.
 * @param gold the expected answer, which may be in one of extractAnswer's forms
 * @param prediction the whole message
 * @throws C3Error('input') for a blank gold, which no message could match
 */
export function gradeAnswer(gold: string, prediction: string): Verdict {
  const expected = extractAnswer(gold).answer ?? (tidyAnswer(gold) || gold.trim());
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
  const equal = numbers
    ? isSameRational(goldNumber, answerNumber)
    : normalizeAnswerText(expected) === normalizeAnswerText(answer);
  return {
    score: equal ? 1 : 0,
    rule: `${rule}: ${equal ? 'equal' : 'different'} ${numbers ? 'numbers' : 'texts'}`,
    answer,
  };
}

/** Returns the form in which two texts are compared. */
function normalizeAnswerText(text: string): string {
  return text.normalize('NFC').replace(/\s+/gu, ' ').trim().toLowerCase();
}

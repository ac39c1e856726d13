/**
 * Grades a message against a gold answer as mathematics, exactly. Nothing is evaluated as code, and
 * every step is counted.
 */

import { C3Error } from '../../shared/errors.ts';
import { removeThinking } from '../../shared/text/thinking.ts';
import { compareValues, type Grader, type Outcome } from './compare.ts';
import { Budget, LimitReached, LIMITS, Unreadable } from './exact/budget.ts';
import { Algebra } from './exact/polynomial.ts';
import { extractWithNotes, MAX_ANSWER_LENGTH, tidyAnswer } from './extract.ts';
import { tokenizeAnswer } from './lex.ts';
import { readValue } from './value.ts';
import type { Value } from './valueForms.ts';

export type { Grader } from './compare.ts';
export const GRADERS: readonly Grader[] = ['strict', 'lenient'];

/**
 * The possible rules of a verdict: `no-answer`, `limit`, or a place and a comparison as in `boxed:
 * equal numbers`. The first place that occurs decides, and the last one of its kind; see
 * extractAnswer.
 */
export const RULES = {
  places: {
    'hash-line': '#### x, to the end of its line',
    boxed: '\\boxed{x} with balanced braces',
    'answer-phrase': '"answer is x", "answer: x", 答案是 x, 答案：x and their like, to the end of the sentence',
    'whole-message': 'nothing is marked, and the message is one line, or mathematics from beginning to end',
    'last-number': 'lenient only: nothing is marked; the last number of the message',
  },
  comparisons: {
    'equal, different':
      'numbers, expressions, tuples, intervals, sets, lists, unions, matrices, relations, or texts where either is no mathematics',
    'equal choices': '(B) 12 is B',
    'different units': 'both give a unit, and not the same',
    'different kinds': 'such as a number and a tuple',
    'equal, percent sign left out': '50% is 50 where one has the sign, as 5 cm is 5; it is 0.5 too, and 0.5 is not 50',
    'equal, letter case of a choice left out': '(B) or \\text{B} is b: A to J, marked on at least one side; x is not X',
    'lenient, unit or percent sign left out': '5 cm is 5 m, 50% is 50 cm',
    'lenient, letter case left out': 'a is A',
    'lenient, rounds to the whole gold number': 'half to even',
    'lenient, within 4 % of the gold': 'the rule of the published grader, which calls it exact match',
  },
  alone: {
    'no-answer': 'nothing that could be compared',
    limit: 'a bound of LIMITS or MAX_ANSWER_LENGTH was reached: unequal',
  },
} as const;

export interface MathVerdict {
  readonly score: 0 | 1;
  /** One of RULES. */
  readonly rule: string;
  /** The text that was compared. */
  readonly answer: string | null;
}

interface Stated {
  readonly answer: string | null;
  readonly rule: string;
}

/**
 * Grades a message.
 * @param gold the expected answer, or a solution that states it in a form that extractAnswer reads
 * @param prediction the whole message
 * @param grader strict: equal values only; lenient: also what the published grader accepts (reference:
 *   its 4 % and rounding rules)
 * @throws C3Error('input') for a blank gold, which no message could match
 */
export function gradeMath(gold: string, prediction: string, grader: Grader): MathVerdict {
  const expected = readGoldAnswer(gold);
  const stated = readStatedAnswer(prediction);
  const verdict = makeVerdict(expected, stated, grader);
  if (
    grader === 'strict' ||
    verdict.score === 1 ||
    verdict.rule === 'limit' ||
    !/^(?:no-answer|whole-message)$/u.test(stated.rule)
  ) {
    return verdict;
  }
  const number = findLastNumber(removeThinking(prediction));
  const second = number === null ? null : makeVerdict(expected, { answer: number, rule: 'last-number' }, grader);
  return second === null || (second.score === 0 && verdict.rule !== 'no-answer') ? verdict : second;
}

function readGoldAnswer(gold: string): string | null {
  if (gold.length > LIMITS.message) {
    return null;
  }
  const { answer, tooLong } = extractWithNotes(gold);
  const expected = answer ?? (tooLong ? null : tidyAnswer(gold) || gold.trim());
  if (expected === '') {
    throw new C3Error('input', 'Cannot grade against a blank gold answer: give the expected answer.');
  }
  return expected === null || expected.length > MAX_ANSWER_LENGTH ? null : expected;
}

/** Returns the answer of a message; null with `no-answer` or `limit`. */
function readStatedAnswer(prediction: string): Stated {
  if (prediction.length > LIMITS.message) {
    return { answer: null, rule: 'limit' };
  }
  const { answer, rule, tooLong } = extractWithNotes(prediction);
  if (answer !== null) {
    return { answer, rule };
  }
  const message = removeThinking(prediction).trim();
  const oneLine = !/[\n\r]/u.test(message);
  if (tooLong || (oneLine && message.length > MAX_ANSWER_LENGTH)) {
    return { answer: null, rule: 'limit' };
  }
  const all = message.length > MAX_ANSWER_LENGTH ? '' : tidyAnswer(message);
  if (all === '' || (!oneLine && !isMathematics(all))) {
    return { answer: null, rule: 'no-answer' };
  }
  return { answer: all, rule: 'whole-message' };
}

function makeVerdict(expected: string | null, { answer, rule }: Stated, grader: Grader): MathVerdict {
  if (answer === null) {
    return { score: 0, rule, answer };
  }
  const outcome = expected === null ? null : compareAnswers(expected, answer, grader);
  if (outcome === null) {
    return { score: 0, rule: 'limit', answer };
  }
  return { score: outcome.equal ? 1 : 0, rule: `${rule}: ${outcome.how}`, answer };
}

/** Compares two answers. Returns null if a limit was reached and the texts differ. */
function compareAnswers(gold: string, answer: string, grader: Grader): Outcome | null {
  const algebra = new Algebra(new Budget());
  const sameText = normalizeMathText(gold) === normalizeMathText(answer);
  try {
    const expected = tryReadValue(gold, algebra);
    const given = tryReadValue(answer, algebra);
    if (expected !== null && given !== null) {
      const outcome = compareValues(expected, given, grader, algebra);
      return !outcome.equal && sameText ? { equal: true, how: 'equal texts' } : outcome;
    }
  } catch (error) {
    if (!(error instanceof LimitReached)) {
      throw error;
    }
    return sameText ? { equal: true, how: 'equal texts' } : null;
  }
  return { equal: sameText, how: sameText ? 'equal texts' : 'different texts' };
}

/** Reads a text as mathematics; null if it is not. */
function tryReadValue(text: string, algebra: Algebra): Value | null {
  try {
    return readValue(text, algebra);
  } catch (error) {
    if (error instanceof Unreadable) {
      return null;
    }
    throw error;
  }
}

function isMathematics(text: string): boolean {
  try {
    return tryReadValue(text, new Algebra(new Budget())) !== null;
  } catch (error) {
    if (error instanceof LimitReached) {
      return true;
    }
    throw error;
  }
}

/**
 * Returns the form in which texts are compared: one spelling of commands and blanks, and words (but
 * not single letters) in lower case.
 */
function normalizeMathText(text: string): string {
  try {
    return tokenizeAnswer(text, new Budget())
      .map(({ kind, text: token }) => (kind === 'word' ? token.toLowerCase() : token))
      .join(' ');
  } catch (error) {
    if (!(error instanceof Unreadable) && !(error instanceof LimitReached)) {
      throw error;
    }
  }
  const plain = text.normalize('NFC').replaceAll(/\s+/gu, ' ').trim();
  return plain.includes('\\') ? plain : plain.toLowerCase();
}

/** Returns the last number of a message as written, or null. */
function findLastNumber(text: string): string | null {
  let last: string | null = null;
  for (const [number] of text.matchAll(/[-\u2212]?\d[\d,]*(?:\.\d+)?(?:\/\d+)?%?/gu)) {
    last = number;
  }
  return last === null || last.length > MAX_ANSWER_LENGTH ? null : last.replace(/,+$/u, '');
}

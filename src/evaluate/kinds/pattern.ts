/** Requires a match of a regular expression, in time that is linear in the message. */

import { RE2JS } from 're2js';
import { findUnusableAnswer, type EvaluatorKind } from '../kind.ts';

export const pattern = {
  name: 'pattern',
  words: 'The regular expression in the answer must match somewhere in the message (RE2 syntax).',
  runsCode: false,
  fault: (problems) =>
    findUnusableAnswer('pattern', 'a regular expression', problems, (text) => {
      const found = compilePattern(text);
      return typeof found === 'string' ? found : null;
    }),
  make: () => ({
    name: 'pattern',
    evaluate: ({ answer, uid }, text) => {
      const matches = compilePattern(answer);
      return Promise.resolve(
        typeof matches === 'string'
          ? {
              score: null,
              rule: 'no-gold',
              masked: `The answer of problem ${uid} is no regular expression: ${matches}.`,
            }
          : matches(text)
            ? { score: 1, rule: 'pattern: matches' }
            : { score: 0, rule: 'pattern: no match' },
      );
    },
  }),
} as const satisfies EvaluatorKind;

/** The largest length of an expression, which bounds the steps for each character. */
const MAX_PATTERN = 1000;
/** The number of characters of a message that are searched. */
const MAX_SEARCHED = 100_000;

/** Returns true if an expression matches somewhere in a text. */
type Pattern = (text: string) => boolean;

/**
 * Compiles a regular expression in the syntax of RE2, which has no lookaround and no backreferences,
 * so that neither a file nor a message can make the search slow.
 * @returns the pattern, or the reason why it cannot be compiled, as part of a sentence
 */
export function compilePattern(source: string): Pattern | string {
  if (source.trim() === '') {
    return 'it is empty';
  }
  if (source.length > MAX_PATTERN) {
    return `it has more than ${MAX_PATTERN} characters`;
  }
  try {
    const compiled = RE2JS.compile(source);
    return (text) => compiled.matcher(text.slice(0, MAX_SEARCHED)).find();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

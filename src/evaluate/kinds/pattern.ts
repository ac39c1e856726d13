import { RE2JS } from 're2js';
/** A regular expression that must match. */
import { unusable, type EvaluatorKind } from '../kind.ts';

export const pattern = {
  name: 'pattern',
  words: 'The regular expression in the answer must match somewhere in the message (RE2 syntax).',
  runsCode: false,
  fault: (problems) =>
    unusable('pattern', 'a regular expression', problems, (text) => {
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

// Scores a message by a regular expression, in time that is linear in the message.

/** Longer expressions are refused: one may take as many steps for each character as it is long. */
const MAX_PATTERN = 1000;
/** Characters of a message that are searched. */
const MAX_SEARCHED = 100_000;

/** Whether an expression matches somewhere in a text. */
type Pattern = (text: string) => boolean;

/**
 * Compiles a regular expression in the syntax of RE2, which has no lookaround and no references to groups: neither a
 * file nor a message can make the search slow.
 * @returns why it cannot be compiled, as a part of a sentence, in the place of the pattern
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

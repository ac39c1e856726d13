/** A regular expression that must match. */
import { unusable, type EvaluatorKind } from '../kind.ts';
import { compilePattern } from '../pattern.ts';

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

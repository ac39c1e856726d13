/** A number within a tolerance. */
import { unusable, type EvaluatorKind } from '../kind.ts';
import { gradeTolerance, parseTolerance } from '../tolerance.ts';

export const tolerance = {
  name: 'tolerance',
  words: 'The number that is stated must be within the tolerance of the answer, such as `3.14 +- 0.01` or `250 +- 2%`.',
  runsCode: false,
  fault: (problems) =>
    unusable('tolerance', 'a number with a tolerance', problems, (text) =>
      parseTolerance(text) === null ? 'it must be such as `3.14 +- 0.01` or `250 +- 2%`' : null,
    ),
  make: () => ({
    name: 'tolerance',
    evaluate: ({ answer, uid }, text) => {
      const key = parseTolerance(answer);
      return Promise.resolve(
        key === null
          ? { score: null, rule: 'no-gold', masked: `The answer of problem ${uid} is no number with a tolerance.` }
          : gradeTolerance(key, text),
      );
    },
  }),
} as const satisfies EvaluatorKind;

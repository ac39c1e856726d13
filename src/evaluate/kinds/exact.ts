import { findBlankAnswer, type EvaluatorKind } from '../kind.ts';

export const exact = {
  name: 'exact',
  words: 'The message must be the answer, except for white space around it.',
  runsCode: false,
  fault: (problems) => findBlankAnswer('exact', problems),
  make: () => ({
    name: 'exact',
    evaluate: ({ answer, uid }, text) => {
      if (answer.trim() === '') {
        const masked = `Problem ${uid} has no answer to compare with.`;
        return Promise.resolve({ score: null, rule: 'no-gold', masked });
      }
      const isEqual = text.trim().normalize('NFC') === answer.trim().normalize('NFC');
      return Promise.resolve({ score: isEqual ? 1 : 0, rule: `exact: ${isEqual ? 'equal' : 'different'}` });
    },
  }),
} as const satisfies EvaluatorKind;

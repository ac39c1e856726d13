/** The stated number, or text. */
import { noProblem, type EvaluatorKind } from '../kind.ts';

export const answer = {
  name: 'answer',
  words: 'The number that is stated must be the answer.',
  runsCode: false,
  problem: noProblem,
  make: (parts) => parts.answer,
} as const satisfies EvaluatorKind;

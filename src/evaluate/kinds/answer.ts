import { findNoFault, type EvaluatorKind } from '../kind.ts';

export const answer = {
  name: 'answer',
  words: 'The stated number must be the answer.',
  runsCode: false,
  fault: findNoFault,
  make: (parts) => parts.answer,
} as const satisfies EvaluatorKind;

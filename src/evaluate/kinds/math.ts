import { findNoFault, type EvaluatorKind } from '../kind.ts';

export const math = {
  name: 'math',
  words: 'Answers compared as mathematics, exactly.',
  runsCode: false,
  fault: findNoFault,
  make: (parts) => parts.math('strict'),
} as const satisfies EvaluatorKind;

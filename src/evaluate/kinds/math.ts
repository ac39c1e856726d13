import { noFault, type EvaluatorKind } from '../kind.ts';

export const math = {
  name: 'math',
  words: 'Answers compared as mathematics, exactly.',
  runsCode: false,
  fault: noFault,
  make: (parts) => parts.math('strict'),
} as const satisfies EvaluatorKind;

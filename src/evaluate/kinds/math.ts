/** Answers as mathematics, exactly. */
import { noProblem, type EvaluatorKind } from '../kind.ts';

export const math = {
  name: 'math',
  words: 'Answers compared as mathematics, exactly.',
  runsCode: false,
  problem: noProblem,
  make: (parts) => parts.math('strict'),
} as const satisfies EvaluatorKind;

import { findNoFault, type EvaluatorKind } from '../kind.ts';

export const mathLenient = {
  name: 'math-lenient',
  words: 'As math, and a value within 4 % counts too.',
  runsCode: false,
  fault: findNoFault,
  make: (parts) => parts.math('lenient'),
} as const satisfies EvaluatorKind;

import { findNoFault, type EvaluatorKind } from '../kind.ts';

export const command = {
  name: 'command',
  words: 'A command of yours (`scorer`) reads the message as JSON and prints a number from 0 to 1.',
  runsCode: false,
  fractional: true,
  fault: findNoFault,
  make: ({ command: evaluator }) => evaluator,
} as const satisfies EvaluatorKind;

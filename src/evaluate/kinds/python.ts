import { findProblemWithoutTests, type EvaluatorKind } from '../kind.ts';

export const python = {
  name: 'python',
  words: 'Code in the sandbox: all tests must pass.',
  runsCode: true,
  fault: (problems) => findProblemWithoutTests('python', problems),
  make: ({ plain, ...parts }) => parts.python('strict', 'python', plain),
} as const satisfies EvaluatorKind;

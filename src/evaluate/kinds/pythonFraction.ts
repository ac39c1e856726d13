import { findProblemWithoutTests, type EvaluatorKind } from '../kind.ts';

const NAME = 'python-fraction';

export const pythonFraction = {
  name: NAME,
  words: 'Code in the sandbox: the share of the tests that pass.',
  runsCode: true,
  fractional: true,
  fault: (problems) => findProblemWithoutTests(NAME, problems),
  make: ({ plain, python }) => python('fraction', NAME, plain),
} as const satisfies EvaluatorKind;

import { findProblemWithoutFunction, type EvaluatorKind } from '../kind.ts';

const NAME = 'ladder';

export const ladder = {
  name: NAME,
  words:
    'A helper `aux` and a main function as a share of 4 points: structure (0.4 and 0.6), syntax (0.5), share of the tests that pass (1), calls of aux (0.5, 1 more for no mere wrapper, 0.5 less if ignored).',
  runsCode: true,
  fault: (problems) => findProblemWithoutFunction(NAME, problems),
  make: ({ ladder: of }) => of('checked', NAME),
} as const satisfies EvaluatorKind;

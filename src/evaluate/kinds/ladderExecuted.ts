/** Scores the levels of a program of two functions, with the cooperation found by execution. */

import { findProblemWithoutFunction, type EvaluatorKind } from '../kind.ts';

const NAME = 'ladder-executed';

export const ladderExecuted = {
  name: NAME,
  words:
    'As ladder, with cooperation found by execution: aux runs in a process of its own, and its result counts as used if another one changes what the main function returns. Takes two to four times as long.',
  runsCode: true,
  fault: (problems) => findProblemWithoutFunction(NAME, problems),
  make: ({ ladder }) => ladder('executed', NAME),
} as const satisfies EvaluatorKind;

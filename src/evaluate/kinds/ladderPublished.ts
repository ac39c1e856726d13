/** Scores the levels of a program of two functions, as the published scripts read them. */

import { findProblemWithoutFunction, type EvaluatorKind } from '../kind.ts';

const NAME = 'ladder-published';

export const ladderPublished = {
  name: NAME,
  words:
    'As ladder, read by the substrings and patterns of the published MAGRPO scripts: `return 2 * aux(n)` counts as a wrapper, and an ignored result is almost never noticed.',
  runsCode: true,
  fault: (problems) => findProblemWithoutFunction(NAME, problems),
  make: ({ ladder }) => ladder('published', NAME),
} as const satisfies EvaluatorKind;

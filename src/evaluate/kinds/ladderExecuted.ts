/** The levels of a program in two functions, with the cooperation that really happens. */
import { withoutFunction, type EvaluatorKind } from '../kind.ts';

const NAME = 'ladder-executed';

export const ladderExecuted = {
  name: NAME,
  words:
    'As ladder, with cooperation found by execution: aux runs in a process of its own, and its result is used where another one changes what the main function returns. Takes two to four times as long.',
  runsCode: true,
  fault: (problems) => withoutFunction(NAME, problems),
  make: ({ ladder }) => ladder('executed', NAME),
} as const satisfies EvaluatorKind;

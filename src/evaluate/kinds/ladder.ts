/** The levels of a program in two functions. */
import { withoutFunction, type EvaluatorKind } from '../kind.ts';

const NAME = 'ladder';

export const ladder = {
  name: NAME,
  words:
    'A helper `aux` and a main function in the sandbox, as a share of 4 points: structure (0.4 and 0.6), syntax (0.5), the share of the tests that pass (1), and cooperation (0.5 for a call of aux, 1 unless the main function only wraps it, less 0.5 where its result is ignored).',
  runsCode: true,
  problem: (instances) => withoutFunction(NAME, instances),
  make: ({ ladder: of }) => of('checked', NAME),
} as const satisfies EvaluatorKind;

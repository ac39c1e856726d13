/** Code by its tests, other answers as the task has them. */
import { noProblem, type EvaluatorKind } from '../kind.ts';

export const auto = {
  name: 'auto',
  words:
    'Code by its tests, all of which must pass; numbers of arithmetic, letters of logic, cards by points, functions by ladder, chains by chain; other answers as mathematics, strictly.',
  runsCode: true,
  problem: noProblem,
  make: ({ plain, python }) => python('strict', 'auto', plain),
} as const satisfies EvaluatorKind;

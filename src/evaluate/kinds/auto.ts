/** Code by its tests, other answers as the task has them. */
import { noProblem, type EvaluatorKind } from '../kind.ts';

export const auto = {
  name: 'auto',
  words:
    'Code by its tests, all of which must pass; the bundled arithmetic by the number that is stated; other answers as mathematics, strictly.',
  runsCode: true,
  problem: noProblem,
  make: ({ stated, answer, math, python }) => python('strict', 'auto', stated ? answer : math('strict')),
} as const satisfies EvaluatorKind;

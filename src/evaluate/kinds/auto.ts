import { findNoFault, type EvaluatorKind } from '../kind.ts';

export const auto = {
  name: 'auto',
  words:
    'Code by its tests, all of which must pass; answers of bundled tasks and of puzzles by the rule of each, such as letters of logic or plans; other answers as mathematics, strictly.',
  runsCode: true,
  fault: findNoFault,
  make: ({ plain, python }) => python('strict', 'auto', plain),
} as const satisfies EvaluatorKind;

import { findNoFault, type EvaluatorKind } from '../kind.ts';

export const judge = {
  name: 'judge',
  words:
    'A model scores the message by a rubric of yours (`scorer`), once its agreement with itself and with your labels is measured.',
  runsCode: false,
  fault: findNoFault,
  make: ({ judge: evaluator }) => evaluator,
} as const satisfies EvaluatorKind;

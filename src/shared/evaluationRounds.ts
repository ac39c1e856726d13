import type { EvaluationKind } from './records.ts';

/** One evaluation of a run: its number is the `iteration` of its decisions and episodes under phase `evaluate`. */
export interface EvaluationRound {
  readonly iteration: number;
  readonly stage: 'before' | 'after';
  readonly kind: EvaluationKind;
}

/** The evaluations that a run can have, in the order in which they happen. */
export const EVALUATION_ROUNDS: readonly EvaluationRound[] = [
  { iteration: 1, stage: 'before', kind: 'greedy' },
  { iteration: 2, stage: 'before', kind: 'sampled' },
  { iteration: 3, stage: 'after', kind: 'greedy' },
  { iteration: 4, stage: 'after', kind: 'sampled' },
];

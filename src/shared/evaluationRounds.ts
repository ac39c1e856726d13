import type { EvaluationKind, Phase } from './records.ts';

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

/** What a round is called: `Step 3`, `Evaluation before, greedy`, `Replay request 2`. */
export function roundTitle(phase: Phase, iteration: number): string {
  const round = EVALUATION_ROUNDS.find((candidate) => candidate.iteration === iteration);
  if (phase === 'evaluate') return round === undefined ? `Evaluation ${String(iteration)}` : `Evaluation ${round.stage}, ${round.kind}`;
  return phase === 'train' ? `Step ${String(iteration)}` : `Replay request ${String(iteration)}`;
}

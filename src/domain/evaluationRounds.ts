import { IMPORTED } from './logImport.ts';
import type { EvaluationKind, Phase } from './records.ts';

/** One evaluation of a run: its number is the `iteration` of its decisions and episodes under phase `evaluate`. */
export interface EvaluationRound {
  readonly iteration: number;
  readonly stage: 'before' | 'during' | 'after';
  readonly kind: EvaluationKind;
  /**
   * Steps taken when it is made, where its number says so; null for those after training, which end a run of any
   * length.
   */
  readonly step: number | null;
}

/** The evaluations before and after training, which every run can have. */
export const EVALUATION_ROUNDS = [
  { iteration: 1, stage: 'before', kind: 'greedy', step: 0 },
  { iteration: 2, stage: 'before', kind: 'sampled', step: 0 },
  { iteration: 3, stage: 'after', kind: 'greedy', step: null },
  { iteration: 4, stage: 'after', kind: 'sampled', step: null },
] as const satisfies readonly EvaluationRound[];

/** Numbers beyond this belong to evaluations during training: two for each step, greedy and sampled. */
const FIXED = EVALUATION_ROUNDS.length;

/** The evaluation after a step of training. @param step from 1 on */
export function roundDuring(step: number, kind: EvaluationKind): EvaluationRound {
  return { iteration: FIXED + 2 * step - (kind === 'greedy' ? 1 : 0), stage: 'during', kind, step };
}

/** The evaluation of a number; null for a number of none. */
export function evaluationRound(iteration: number): EvaluationRound | null {
  if (!Number.isInteger(iteration) || iteration < 1) {
    return null;
  }
  if (iteration > FIXED) {
    return roundDuring(Math.ceil((iteration - FIXED) / 2), iteration % 2 === 1 ? 'greedy' : 'sampled');
  }
  return EVALUATION_ROUNDS.find((round) => round.iteration === iteration) ?? null;
}

/** The evaluations of some numbers in the order in which a run makes them: before training, during, after. */
export function roundsInOrder(iterations: readonly number[]): readonly EvaluationRound[] {
  const rounds = iterations.flatMap((iteration) => evaluationRound(iteration) ?? []);
  return rounds.sort((a, b) => (a.step ?? Infinity) - (b.step ?? Infinity) || a.iteration - b.iteration);
}

/**
 * Whether a run is evaluated after a step of its training; what follows the last step is the evaluation after training.
 */
export function isEvaluatedAfter(
  step: number,
  { steps, every }: { readonly steps: number; readonly every: number },
): boolean {
  return every > 0 && step > 0 && step < steps && step % every === 0;
}

/** How often a run is evaluated, each time greedily and by sampling. */
export function evaluationTimes({
  steps,
  every,
  before,
}: {
  readonly steps: number;
  readonly every: number;
  readonly before: boolean;
}): number {
  if (steps === 0) {
    return 1;
  }
  return (before ? 1 : 0) + (every === 0 ? 0 : Math.floor((steps - 1) / every)) + 1;
}

/**
 * What a round is called: `Step 3`, `Evaluation before, greedy`, `Evaluation after step 6, greedy`, `Replay request 2`.
 */
export function roundTitle(phase: Phase, iteration: number): string {
  if (phase !== 'evaluate') {
    return phase === 'train' ? `Step ${String(iteration)}` : `Replay request ${String(iteration)}`;
  }
  const round = evaluationRound(iteration);
  return round === null ? `Evaluation ${String(iteration)}` : evaluationTitle(round);
}

/** The same for a round of a run; of one that was imported nothing but that it was recorded. */
export const roundTitleOf = (method: string, phase: Phase, iteration: number): string =>
  method === IMPORTED ? 'As recorded' : roundTitle(phase, iteration);

/** `Evaluation before, greedy`, or `Evaluation after step 6, greedy`. */
export function evaluationTitle({ stage, kind, step }: EvaluationRound): string {
  return `Evaluation ${stage === 'during' ? `after step ${String(step)}` : stage}, ${kind}`;
}

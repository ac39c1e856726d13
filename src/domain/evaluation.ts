/** Evaluations of a run: their times, and their results over its training. */

import type { Interval } from './credit.ts';
import { IMPORTED, type Phase } from './episode.ts';
import type { RunRecord } from './run.ts';

export type EvaluationKind = 'greedy' | 'sampled';

/** One evaluation of a run; its number is the `iteration` of its episodes in phase `evaluate`. */
export interface EvaluationRound {
  readonly iteration: number;
  readonly stage: 'before' | 'during' | 'after';
  readonly kind: EvaluationKind;
  /**
   * Number of steps before the evaluation. Null for an evaluation after training, because a run may
   * have any length.
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

/** The round of recordings of other programs: an evaluation with sampling before any training. */
export const RECORDED_ROUND = EVALUATION_ROUNDS[1];

/** Higher numbers belong to evaluations during training: two for each step, greedy and sampled. */
const FIXED = EVALUATION_ROUNDS.length;

/** Returns the evaluation after a step of training. @param step from 1 */
export function roundDuring(step: number, kind: EvaluationKind): EvaluationRound {
  return { iteration: FIXED + 2 * step - (kind === 'greedy' ? 1 : 0), stage: 'during', kind, step };
}

/** Returns the evaluation with a number, or null if there is none. */
export function evaluationRound(iteration: number): EvaluationRound | null {
  if (!Number.isInteger(iteration) || iteration < 1) {
    return null;
  }
  if (iteration > FIXED) {
    return roundDuring(Math.ceil((iteration - FIXED) / 2), iteration % 2 === 1 ? 'greedy' : 'sampled');
  }
  return EVALUATION_ROUNDS.find((round) => round.iteration === iteration) ?? null;
}

/** Returns evaluations in the order in which a run makes them: before training, during, after. */
export function roundsInOrder(iterations: readonly number[]): readonly EvaluationRound[] {
  const rounds = iterations.flatMap((iteration) => evaluationRound(iteration) ?? []);
  return rounds.sort((a, b) => (a.step ?? Infinity) - (b.step ?? Infinity) || a.iteration - b.iteration);
}

/**
 * Returns true if a run is evaluated after a step of its training. The evaluation after the last step
 * is the one after training.
 */
export function isEvaluatedAfter(
  step: number,
  { steps, every }: { readonly steps: number; readonly every: number },
): boolean {
  return every > 0 && step > 0 && step < steps && step % every === 0;
}

/** Returns the number of evaluation times of a run, each with a greedy and a sampled evaluation. */
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
 * Returns the title of a round: `Step 3`, `Evaluation before, greedy`, `Evaluation after step 6,
 * greedy`, `Replay request 2`.
 */
export function roundTitle(phase: Phase, iteration: number): string {
  if (phase !== 'evaluate') {
    return phase === 'train' ? `Step ${iteration}` : `Replay request ${iteration}`;
  }
  const round = evaluationRound(iteration);
  return round === null ? `Evaluation ${iteration}` : evaluationTitle(round);
}

/** Returns the title of a round of a run. An imported run has only `As recorded`. */
export const titleRunRound = (method: string, phase: Phase, iteration: number): string =>
  method === IMPORTED ? 'As recorded' : roundTitle(phase, iteration);

/** `Evaluation before, greedy`, or `Evaluation after step 6, greedy`. */
export function evaluationTitle({ stage, kind, step }: EvaluationRound): string {
  return `Evaluation ${stage === 'during' ? `after step ${String(step)}` : stage}, ${kind}`;
}

/** A complete evaluation. */
export interface StoredEvaluation {
  /** Its number, under which its episodes are stored. */
  readonly iteration: number;
  /** Steps that the run had taken before it. */
  readonly step: number;
  readonly kind: EvaluationKind;
  /** Share of the held-out problems solved, with its 95 % interval; null if no episode could be scored. */
  readonly result: Interval | null;
}

/** One point of the curve over training; null for a value that was not measured at this step. */
export interface EvaluationPoint {
  readonly step: number;
  /** Greedy. */
  readonly accuracy: Interval | null;
  /** Sampled at the training temperature. */
  readonly passAt1: Interval | null;
}

type Evaluated = Pick<RunRecord, 'summary' | 'plannedSteps'>;

/**
 * Returns the complete evaluations of a run, by step.
 * @param stored the evaluations in the store. Runs from before evaluations were stored have those
 *   before and after training in the summary.
 */
export function listEvaluations(
  { summary, plannedSteps }: Evaluated,
  stored: readonly StoredEvaluation[],
): readonly StoredEvaluation[] {
  const known = new Set(stored.map(({ iteration }) => iteration));
  const summed = EVALUATION_ROUNDS.flatMap(({ iteration, stage, kind }): StoredEvaluation[] => {
    const result = (kind === 'greedy' ? summary?.accuracy : summary?.passAt1)?.[stage] ?? null;
    return result === null || known.has(iteration)
      ? []
      : [{ iteration, step: stage === 'before' ? 0 : plannedSteps, kind, result }];
  });
  return [...stored, ...summed].sort((a, b) => a.step - b.step || a.iteration - b.iteration);
}

/** Returns the curve of some evaluations: one point for each step that has one. */
export function evaluationCurve(evaluations: readonly StoredEvaluation[]): readonly EvaluationPoint[] {
  const steps = [...new Set(evaluations.map(({ step }) => step))].sort((a, b) => a - b);
  const at = (step: number, kind: EvaluationKind): Interval | null =>
    evaluations.findLast((one) => one.step === step && one.kind === kind)?.result ?? null;
  return steps.map((step) => ({ step, accuracy: at(step, 'greedy'), passAt1: at(step, 'sampled') }));
}

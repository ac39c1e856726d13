/** Evaluations of a run: when they happen, and what they measured over its training. */
import type { Interval } from './credit.ts';
import { IMPORTED, type Phase } from './episode.ts';
import type { RunRecord } from './run.ts';

export type EvaluationKind = 'greedy' | 'sampled';

/** One evaluation of a run: its number is the `iteration` of its messages and episodes under phase `evaluate`. */
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

/** What other programs recorded is as an evaluation with sampling before any training. */
export const RECORDED_ROUND = EVALUATION_ROUNDS[1];

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
    return phase === 'train' ? `Step ${iteration}` : `Replay request ${iteration}`;
  }
  const round = evaluationRound(iteration);
  return round === null ? `Evaluation ${iteration}` : evaluationTitle(round);
}

/** The same for a round of a run; of one that was imported nothing but that it was recorded. */
export const roundTitleOf = (method: string, phase: Phase, iteration: number): string =>
  method === IMPORTED ? 'As recorded' : roundTitle(phase, iteration);

/** `Evaluation before, greedy`, or `Evaluation after step 6, greedy`. */
export function evaluationTitle({ stage, kind, step }: EvaluationRound): string {
  return `Evaluation ${stage === 'during' ? `after step ${String(step)}` : stage}, ${kind}`;
}

/** A complete evaluation. */
export interface StoredEvaluation {
  /** Its number, under which its episodes are stored. */
  readonly iteration: number;
  /** Steps that the run had taken. */
  readonly step: number;
  readonly kind: EvaluationKind;
  /** Share of the held-out problems solved, with its 95 % interval; null where no episode could be scored. */
  readonly result: Interval | null;
}

/** One point of the curve over training; null for what was not measured there. */
export interface EvaluationPoint {
  readonly step: number;
  /** Greedy. */
  readonly accuracy: Interval | null;
  /** Sampled at the training temperature. */
  readonly passAt1: Interval | null;
}

type Evaluated = Pick<RunRecord, 'summary' | 'plannedSteps'>;

/**
 * The complete evaluations of a run, by step.
 * @param stored what the store holds; of runs that were made before evaluations were stored the summary knows those
 *   before and after
 */
export function evaluationsOf(
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

/** The curve of some evaluations: one point for each step at which there is one. */
export function evaluationCurve(evaluations: readonly StoredEvaluation[]): readonly EvaluationPoint[] {
  const steps = [...new Set(evaluations.map(({ step }) => step))].sort((a, b) => a - b);
  const at = (step: number, kind: EvaluationKind): Interval | null =>
    evaluations.findLast((one) => one.step === step && one.kind === kind)?.result ?? null;
  return steps.map((step) => ({ step, accuracy: at(step, 'greedy'), passAt1: at(step, 'sampled') }));
}

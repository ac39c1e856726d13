/** What a run's evaluations measured, over its training. */
import { EVALUATION_ROUNDS } from './evaluationRounds.ts';
import type { EvaluationKind, Interval, RunRecord } from './records.ts';

/** A complete evaluation. */
export interface StoredEvaluation {
  /** Its number, under which its episodes are stored. */
  readonly iteration: number;
  /** Steps that the run had taken. */
  readonly step: number;
  readonly kind: EvaluationKind;
  /** Share of the held-out instances solved, with its 95 % interval; null where no episode could be scored. */
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

/** Finds the last evaluation of a run. */

import { roundsInOrder, type EvaluationRound } from '../../domain/evaluation.ts';
import type { StoreReader } from '../../store/types.ts';

/**
 * Returns the evaluations of a run that have episodes, the newest first. Evaluations that an
 * interruption left incomplete come after the complete ones.
 */
export function listNewestEvaluations(
  store: Pick<StoreReader, 'evaluationNumbers' | 'evaluations'>,
  run: string,
): readonly EvaluationRound[] {
  const complete = new Set(store.evaluations(run).map(({ iteration }) => iteration));
  const rounds = roundsInOrder(store.evaluationNumbers(run)).toReversed();
  return [
    ...rounds.filter(({ iteration }) => complete.has(iteration)),
    ...rounds.filter(({ iteration }) => !complete.has(iteration)),
  ];
}

/** Formats the time of an evaluation: `before training`, `after step 6`, `after training`. */
export const describeRound = ({ stage, step }: EvaluationRound): string =>
  stage === 'during' ? `after step ${String(step)}` : `${stage} training`;

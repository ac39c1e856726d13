/** Which evaluation of a run is its last one. */
import { roundsInOrder, type EvaluationRound } from '../../domain/evaluation.ts';
import type { StoreReader } from '../../store/types.ts';

/**
 * The evaluations that a run has episodes of, the newest first; those that an interruption left incomplete are behind
 * the complete ones.
 */
export function newestEvaluations(
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

/** `before training`, `after step 6`, `after training`. */
export const momentWords = ({ stage, step }: EvaluationRound): string =>
  stage === 'during' ? `after step ${String(step)}` : `${stage} training`;

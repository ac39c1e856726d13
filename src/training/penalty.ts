/** The KL penalty of an update: from which policy, how estimated, and where it enters. */
import { exactProblem, type KlPenalty, type KlTerm } from '../runtime/train/klTerm.ts';
import type { TrainingContext } from '../runtime/train/pack.ts';
import type { StepSettings } from '../runtime/train/trainingState.ts';
import { shapeWithK1 } from './advantages.ts';
import type { RunConfig } from './config/config.ts';

/** The penalty that a configuration asks for. */
export function penaltyOf({ ppo }: Pick<RunConfig, 'ppo'>): KlPenalty {
  const { kl_coefficient: coefficient, kl_against: against = 'reference', kl_estimator: estimator } = ppo;
  return estimator === 'k1' ? { coefficient, against: 'reference', estimator } : { coefficient, against, estimator };
}

/** Why a configuration's penalty cannot be computed with a model, in one sentence; null where it can. */
export function penaltyProblem(config: Pick<RunConfig, 'ppo' | 'steps'>, vocabularySize: number): string | null {
  const problem = config.ppo.kl_estimator === 'exact' && config.steps > 0 ? exactProblem(vocabularySize) : null;
  return problem === null ? null : `ppo.kl_estimator: ${problem}`;
}

/** The policies that a penalty may be against, by their snapshots. */
export interface Anchors {
  readonly reference: string;
  readonly last: string;
}

/** The contexts and settings with which a step penalizes. */
export interface Penalized {
  readonly contexts: readonly TrainingContext[];
  readonly settings: Pick<StepSettings, 'klCoefficient' | 'anchor'>;
  readonly kl?: KlTerm;
}

/** What a penalty makes of some contexts. k3 from the reference is what every loss has. */
export function penalized(penalty: KlPenalty, contexts: readonly TrainingContext[], anchors: Anchors): Penalized {
  const { coefficient, against, estimator } = penalty;
  if (estimator === 'k1') {
    return { contexts: shapeWithK1(contexts, coefficient), settings: { klCoefficient: 0 } };
  }
  if (estimator === 'k3' && against === 'reference') {
    return { contexts, settings: { klCoefficient: coefficient } };
  }
  const anchor = estimator === 'exact' ? { anchor: anchors[against] } : {};
  return { contexts, settings: { klCoefficient: coefficient, ...anchor }, kl: { against, estimator } };
}

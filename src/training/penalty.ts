/** The KL penalty of an update: its anchor policy, its estimator, and the place where it enters. */

import { EXACT_VOCABULARY, explainNoExactKl, type KlPenalty, type KlTerm } from '../runtime/train/graph/klTerm.ts';
import type { TrainingContext } from '../runtime/train/graph/pack.ts';
import type { StepSettings } from '../runtime/train/trainingState.ts';
import { shapeWithK1 } from './advantages.ts';
import type { RunConfig } from './config/config.ts';
import { methodReadsKey } from './methods/methods.ts';

export function getPenalty({ ppo }: Pick<RunConfig, 'ppo'>): KlPenalty {
  const { kl_coefficient: coefficient, kl_against: against, kl_estimator: estimator } = ppo;
  return estimator === 'k1' ? { coefficient, against: 'reference', estimator } : { coefficient, against, estimator };
}

type PenaltyConfig = Pick<RunConfig, 'method' | 'ppo' | 'teamtr' | 'steps'>;

/** This key also compares whole distributions, and has its own message. */
const RANKS_KEY = 'teamtr.rank_shifts';

/** Returns the key by which a run compares whole distributions, or null if it does not. */
export function findExactKey({ method, ppo, teamtr, steps }: PenaltyConfig): string | null {
  const [key, estimator] = methodReadsKey(method, 'teamtr')
    ? ['teamtr.kl_estimator', teamtr.kl_estimator]
    : ['ppo.kl_estimator', ppo.kl_estimator];
  if (estimator === 'exact' && steps > 0) {
    return key;
  }
  return methodReadsKey(method, 'teamtr') && teamtr.rank_shifts && steps > 0 ? RANKS_KEY : null;
}

/** Returns the reason why a model does not allow the configured divergence, or null if it does. */
export function findExactDivergenceFault(config: PenaltyConfig, vocabularySize: number): string | null {
  const key = findExactKey(config);
  const fault = key === null ? null : explainNoExactKl(vocabularySize);
  return fault === null
    ? null
    : key === RANKS_KEY
      ? `${key}: Probabilities by rank compare ${vocabularySize} of them at each token, more than ${EXACT_VOCABULARY}; leave it out.`
      : `${String(key)}: ${fault}`;
}

/** Snapshots of the policies that a penalty can be measured against. */
export interface Anchors {
  readonly reference: string;
  readonly last: string;
}

/** The contexts and settings of a step with its penalty. */
export interface Penalized {
  readonly contexts: readonly TrainingContext[];
  readonly settings: Pick<StepSettings, 'klCoefficient' | 'anchor'>;
  readonly kl?: KlTerm;
}

/** Applies a penalty to some contexts. k3 from the reference is part of every loss. */
export function applyPenalty(penalty: KlPenalty, contexts: readonly TrainingContext[], anchors: Anchors): Penalized {
  const { coefficient, against, estimator } = penalty;
  const fromLast = estimator !== 'k1' && penalty.fromLast === true;
  if (estimator === 'k1') {
    return { contexts: shapeWithK1(contexts, coefficient), settings: { klCoefficient: 0 } };
  }
  if (estimator === 'k3' && against === 'reference') {
    return { contexts, settings: { klCoefficient: coefficient } };
  }
  const anchor = estimator === 'exact' ? { anchor: anchors[against] } : {};
  return {
    contexts,
    settings: { klCoefficient: coefficient, ...anchor },
    kl: { against, estimator, ...(fromLast && { fromLast }) },
  };
}

/** The updates that methods share. */

import { makeCosineSchedule } from '../schedule.ts';
import type { LearningStep, Outcome, TaughtStep, Update } from './method.ts';

/**
 * PPO: in each epoch one step of AdamW for each mini-batch, down the gradient of the mean of (C3
 * equation 16, for each token)
 *
 *   -min(r A, clip(r, 1 - 0.2, 1 + 0.2) A) + kl_coefficient * KL(policy || first policy)
 *
 *   r = policy / policy that sampled, whatever was learned since
 *
 * A is the message's credit, and `ppo.loss_weight` chooses the unit of the mean. `ppo.kl_against` and
 * `ppo.kl_estimator` choose another KL (penalty.ts). The rate rises, then falls along a half cosine
 * over all updates of the run.
 */
export function* updateByPpo({
  settings: { steps, ppo },
  iteration,
  random,
}: LearningStep): Generator<Update, void, Outcome> {
  const { learning_rate: peak, warmup_fraction: warmupFraction, final_fraction: floorFraction } = ppo;
  const { epochs, mini_batches: of } = ppo;
  const rate = makeCosineSchedule({ peak, warmupFraction, floorFraction, totalSteps: steps * epochs * of });
  for (let epoch = 0; epoch < epochs; epoch++) {
    const draw = random(`mini-batches:${epoch}`);
    for (let index = 0; index < of; index++) {
      const learningRate = rate(((iteration - 1) * epochs + epoch) * of + index);
      yield { kind: 'policy', learningRate, ...(of > 1 && { batch: { index, of, draw } }) };
    }
  }
}

/**
 * Trains the value head on the returns that followed each message before the policy moves, because the
 * credits used the values of that policy. Its learning rate follows the policy's schedule. In the
 * first steps of a run only the head learns.
 */
export function* updateValuesAndPolicy(step: LearningStep): Generator<Update, void, Outcome> {
  const { settings, iteration } = step;
  const { steps, ppo, value_head: head } = settings;
  const { warmup_fraction: warmupFraction, final_fraction: floorFraction } = ppo;
  const rate = makeCosineSchedule({ peak: head.learning_rate, warmupFraction, floorFraction, totalSteps: steps });
  const { fit, ridge, keep, epochs, clip } = head;
  yield {
    kind: 'values',
    learningRate: rate(iteration - 1),
    epochs,
    clip,
    ...(fit === 'least_squares' && { leastSquares: { ridge, keep } }),
  };
  if (movesPolicy(step)) {
    yield* updateByPpo(step);
  }
}

const movesPolicy = ({ settings, iteration }: TaughtStep): boolean => iteration > settings.value_head.warmup_steps;

/** Returns the roles that `updateValuesAndPolicy` teaches: none while only the value head learns. */
export const listTaughtAfterWarmup = (step: TaughtStep): readonly string[] => (movesPolicy(step) ? step.roles : []);

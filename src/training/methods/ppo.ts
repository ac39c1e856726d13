/** The updates that methods share. */
import { cosineSchedule } from '../schedule.ts';
import type { LearningStep, Outcome, Update } from './method.ts';

/**
 * PPO: in each epoch one step of AdamW down the gradient of the token mean of (C3 equation 16, per token)
 *
 *   -min(r A, clip(r, 1 - 0.2, 1 + 0.2) A) + kl_coefficient * KL(policy || first policy)
 *
 *   r = policy / policy that sampled
 *
 * A being the message's credit. `ppo.kl_against` and `ppo.kl_estimator` choose another KL (penalty.ts). The rate rises,
 * then falls along a half cosine over all epochs of the run.
 */
export function* ppoEpochs({ settings: { steps, ppo }, iteration }: LearningStep): Generator<Update, void, Outcome> {
  const { learning_rate: peak, warmup_fraction: warmupFraction, final_fraction: floorFraction, epochs } = ppo;
  const rate = cosineSchedule({ peak, warmupFraction, floorFraction, totalSteps: steps * epochs });
  for (let epoch = 0; epoch < epochs; epoch++) {
    yield { kind: 'policy', learningRate: rate((iteration - 1) * epochs + epoch) };
  }
}

/**
 * The value head's squared error on what followed each message, on the schedule of the policy. Before the policy moves:
 * values are those that the credits took.
 */
export function* valueEpochs({
  settings: { steps, ppo, value_head: head },
  iteration,
}: LearningStep): Generator<Update, void, Outcome> {
  const { warmup_fraction: warmupFraction, final_fraction: floorFraction } = ppo;
  const rate = cosineSchedule({ peak: head.learning_rate, warmupFraction, floorFraction, totalSteps: steps });
  yield { kind: 'values', learningRate: rate(iteration - 1), epochs: head.epochs, clip: head.clip };
}

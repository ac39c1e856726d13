/** The keys of a run configuration that say how the policy is updated. */
import { z } from 'zod';
import { oneOf, positive, share } from './keyKinds.ts';

export const ppoSchema = z
  .strictObject({
    learning_rate: z.number().positive().default(1e-4).describe('The peak learning rate of the optimizer (AdamW).'),
    warmup_fraction: share.default(0.03).describe('The share of the steps in which the learning rate warms up.'),
    final_fraction: share.default(0.1).describe('The final learning rate, as a share of the peak.'),
    epochs: positive
      .default(1)
      .describe('Passes over the messages of a step; ratios are always to the policy that sampled them.'),
    mini_batches: positive
      .max(1000)
      .default(1)
      .describe(
        "Optimizer steps of a pass, each on a part of the contexts, in an order drawn from the seed. With 1 and one pass ratios are 1 and PPO clips nothing; the paper's code takes about 10 steps.",
      )
      .meta({ since: '0.2.0', earlier: 1 }),
    loss_weight: oneOf(['token', 'message', 'role'], {
      token: 'Every token of the step counts the same: long messages, and roles with many, count more.',
      message: 'Every message counts the same, whatever its length.',
      role: "Every role counts the same, however many messages it was sampled (C3's equation 18).",
    })
      .default('role')
      .describe('What counts the same in the loss, for every method alike.')
      .meta({ since: '0.2.0', earlier: 'token' }),
    skip_zero_credit: z
      .boolean()
      .default(true)
      .describe(
        'Computes nothing for messages whose advantage is 0, where the loss has no KL penalty of its own (`kl_coefficient: 0` or `kl_estimator: k1`): the gradient is the same without them.',
      )
      .meta({ since: '0.2.0', earlier: false }),
    kl_coefficient: z.number().min(0).default(0.01).describe('The weight of the KL penalty; 0 turns it off.'),
    kl_estimator: oneOf(['k3', 'k1', 'exact'], {
      k3: 'In the loss, estimated from the sampled tokens.',
      k1: 'Subtracted from the advantages, token by token; only against `reference`.',
      exact: 'In the loss, over the whole vocabulary at every token; for vocabularies of up to 8,192 tokens.',
    })
      .default('k3')
      .describe('How the divergence is estimated and applied.'),
    kl_against: oneOf(['reference', 'last'], {
      reference: 'The policy that the run began with.',
      last: 'The policy that sampled the messages of the step: the penalty holds each step near the one before.',
    })
      .default('reference')
      .describe('From which policy the KL penalty keeps the trained one.')
      .meta({ since: '0.2.0', earlier: 'reference' }),
  })
  .prefault({})
  .describe('How the policy is updated.');

export const valueHeadSchema = z
  .strictObject({
    fit: oneOf(['least_squares', 'gradient'], {
      least_squares: 'With a bias, in each step the best fit to what was sampled so far, older steps counting less.',
      gradient: 'Without a bias, by some optimizer steps on what the step sampled (`learning_rate`, `epochs`, `clip`).',
    })
      .default('least_squares')
      .describe('How the head is fitted to the returns.')
      .meta({ since: '0.2.0', earlier: 'gradient' }),
    ridge: z
      .number()
      .positive()
      .default(20)
      .describe('With `fit: least_squares`, as many examples speak for a value that is the same everywhere.')
      .meta({ since: '0.2.0', earlier: 20 }),
    keep: share
      .default(0.95)
      .describe('With `fit: least_squares`, what the examples of a step count in the step after it: 1 is as much.')
      .meta({ since: '0.2.0', earlier: 0.95 }),
    warmup_steps: z
      .int()
      .min(0)
      .default(1)
      .describe(
        'First steps of a run in which the head learns and the policy does not: until then it explains nothing.',
      )
      .meta({ since: '0.2.0', earlier: 0 }),
    learning_rate: z
      .number()
      .positive()
      .default(1e-3)
      .describe(
        'The peak learning rate of the head, on the schedule of the policy. The published rate of 5e-5 is that of a whole network as critic; a single layer that begins at 0 needs more.',
      ),
    epochs: positive.default(8).describe('Optimizer steps of the head per step of the run.'),
    clip: z
      .number()
      .positive()
      .default(0.5)
      .describe('A value that has moved by more than this in a step is not updated further in that step.'),
  })
  .prefault({})
  .describe('How the value head learns: of method mappo and of `credit.estimator: value_assisted`.');

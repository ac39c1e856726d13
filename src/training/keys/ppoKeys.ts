/** The keys of a run configuration for updating the policy. */

import { z } from 'zod';
import { enumKey, positive, share } from './keyKinds.ts';

export const ppoSchema = z
  .strictObject({
    learning_rate: z
      .number()
      .positive()
      .default(1e-4)
      .describe('The optimizer (AdamW) has this learning rate at its peak.'),
    warmup_fraction: share.default(0.03).describe('The learning rate warms up in this share of the steps.'),
    final_fraction: share.default(0.1).describe('The learning rate ends at this share of its peak.'),
    epochs: positive
      .default(1)
      .describe('A step makes this many passes over its messages. Ratios are always to the policy that sampled them.'),
    mini_batches: positive
      .max(1000)
      .default(1)
      .describe(
        'A pass makes this many optimizer steps, each on a part of the contexts, in an order drawn from the ' +
          "seed. With one pass of one step, ratios are 1 and PPO clips nothing; the paper's code takes about 10 " +
          'steps.',
      )
      .meta({ since: '0.2.0', earlier: 1 }),
    loss_weight: enumKey(['token', 'message', 'role'], {
      token: 'Every token of the step counts the same: long messages, and roles with many, count more.',
      message: 'Every message counts the same, whatever its length.',
      role: "Every role counts the same, however many messages it was sampled (C3's equation 18).",
    })
      .default('role')
      .describe('These have equal weight in the loss, for every method.')
      .meta({ since: '0.2.0', earlier: 'token' }),
    skip_zero_credit: z
      .boolean()
      .default(true)
      .describe(
        'true computes nothing for messages whose advantage is 0 if the loss has no KL penalty of its own ' +
          '(`kl_coefficient: 0` or `kl_estimator: k1`). With k3, it leaves out micro-batches of such messages while ' +
          'the policy is still the one that the run began with. The gradient is the same.',
      )
      .meta({ since: '0.2.0', earlier: false }),
    kl_coefficient: z.number().min(0).default(0.01).describe('The KL penalty has this weight; 0 turns it off.'),
    kl_estimator: enumKey(['k3', 'k1', 'exact'], {
      k3: 'In the loss, estimated from the sampled tokens.',
      k1: 'Subtracted from the advantages, token by token; only against `reference`.',
      exact: 'In the loss, over the whole vocabulary at every token; for vocabularies of up to 8,192 tokens.',
    })
      .default('k3')
      .describe('This key estimates the KL penalty and says where it enters.'),
    kl_against: enumKey(['reference', 'last'], {
      reference: 'The policy that the run began with.',
      last: 'The policy that sampled the messages of the step: the penalty holds each step near the one before.',
    })
      .default('reference')
      .describe('The KL penalty keeps the trained policy near this one.')
      .meta({ since: '0.2.0', earlier: 'reference' }),
    kl_on: enumKey(['all', 'credited'], {
      all: 'All messages of the step.',
      credited:
        'Those with a credit other than 0. The others cost no training pass, and the KL of a step leaves them out.',
    })
      .default('all')
      .describe('The KL penalty is on these messages.')
      .meta({ since: '0.2.0', earlier: 'all' }),
  })
  .prefault({})
  .describe('These keys say how the policy is updated.');

export const valueHeadSchema = z
  .strictObject({
    fit: enumKey(['least_squares', 'gradient'], {
      least_squares: 'With a bias, in each step the best fit to what was sampled so far, older steps counting less.',
      gradient: 'Without a bias, by some optimizer steps on what the step sampled (`learning_rate`, `epochs`, `clip`).',
    })
      .default('least_squares')
      .describe('This key fits the head to the returns.')
      .meta({ since: '0.2.0', earlier: 'gradient' }),
    ridge: z
      .number()
      .positive()
      .default(20)
      .describe('With `fit: least_squares`, a value that is the same everywhere weighs as much as this many examples.')
      .meta({ since: '0.2.0', earlier: 20 }),
    keep: share
      .default(0.95)
      .describe('With `fit: least_squares`, the examples of a step keep this share of their weight in the next step.')
      .meta({ since: '0.2.0', earlier: 0.95 }),
    warmup_steps: z
      .int()
      .min(0)
      .default(1)
      .describe(
        'In this many first steps of a run the head learns and the policy does not: until then the head ' +
          'explains nothing.',
      )
      .meta({ since: '0.2.0', earlier: 0 }),
    learning_rate: z
      .number()
      .positive()
      .default(1e-3)
      .describe(
        'The head has this learning rate at its peak, on the schedule of the policy. The published rate of ' +
          '5e-5 is that of a whole network as critic; a single layer that begins at 0 needs more.',
      ),
    epochs: positive.default(8).describe('The head makes this many optimizer steps per step of the run.'),
    clip: z
      .number()
      .positive()
      .default(0.5)
      .describe('A value that has moved by more than this number in a step is not updated further in that step.'),
  })
  .prefault({})
  .describe('The value head of method mappo and of `credit.estimator: value_assisted` learns by these keys.');

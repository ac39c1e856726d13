/** The keys of a run configuration for the team that a run begins with, and for replacing a policy. */

import { z } from 'zod';
import { pathKey, positive } from './keyKinds.ts';

const MOST_NAME = 200;

const fromSchema = z
  .strictObject({
    run: z
      .string()
      .min(1)
      .max(MOST_NAME)
      .nullable()
      .default(null)
      .describe('The policy comes from this run, in the same store and of the same model. The section needs one.'),
    snapshot: z
      .preprocess((value) => (typeof value === 'number' ? String(value) : value), z.string().min(1).max(MOST_NAME))
      .nullable()
      .default(null)
      .describe(
        'The snapshot is that after this step of the run, or the one whose name begins with these digits. null ' +
          'takes that of the last step.',
      ),
    role: z
      .string()
      .min(1)
      .max(MOST_NAME)
      .nullable()
      .default(null)
      .describe('The policy is that of this role of the run. null takes the same role.'),
  })
  .nullable()
  .default(null)
  .describe('A policy that another run trained takes the place, instead of `with`.');

const replaceSchema = z
  .strictObject({
    role: z
      .string()
      .min(1)
      .max(MOST_NAME)
      .nullable()
      .default(null)
      .describe('The policy of this role is replaced. The section needs one.'),
    with: pathKey('folder')
      .nullable()
      .default(null)
      .describe(
        "The adapter of this folder takes the place, in PEFT's layout, relative to this file, over the same " +
          'model and of the same rank, alpha and modules. null takes the model without an adapter.',
      ),
    from: fromSchema,
    align: z
      .boolean()
      .default(true)
      .describe(
        'true runs stage 0: before the run begins, the new policy learns to say what the old one says, until ' +
          'its KL is at `delta`. false swaps directly.',
      ),
    probes: positive
      .max(10_000)
      .default(500)
      .describe(
        'Stage 0 uses at most this many contexts in which the old policy speaks. They come from episodes that ' +
          'the team before the swap samples on training questions, each context once.',
      ),
    delta: z
      .number()
      .positive()
      .max(100)
      .default(0.01)
      .describe(
        'Stage 0 ends at this mean KL of the old policy from the new one, in nats, summed over the tokens of a ' +
          'message. Every fifth probe measures it and is not learned from. The KL is over the whole vocabulary ' +
          'up to 8,192 tokens, else over the sampled tokens.',
      ),
    learning_rate: z
      .number()
      .positive()
      .default(3e-3)
      .describe(
        'The optimizer of stage 0 (AdamW) has this learning rate, and takes 100 probes in each step. The rate ' +
          'is halved after ten steps without a smaller KL.',
      ),
    max_steps: positive.max(10_000).default(200).describe('Stage 0 makes at most this many optimizer steps.'),
    measure: z
      .boolean()
      .default(true)
      .describe(
        'true evaluates the held-out questions greedily with the team before the swap, after a direct swap and ' +
          'after stage 0, so that the run shows the cost of the swap.',
      ),
  })
  .nullable()
  .default(null)
  .describe('One policy of that team is replaced (plug and play). Needs `adapter: {per: role}`.');

export const beginSchema = z
  .strictObject({
    run: z
      .string()
      .min(1)
      .max(MOST_NAME)
      .nullable()
      .default(null)
      .describe(
        'The run begins with the adapters of this earlier run, in the same store and of the same model. The ' +
          'section needs one.',
      ),
    snapshot: z
      .preprocess((value) => (typeof value === 'number' ? String(value) : value), z.string().min(1).max(MOST_NAME))
      .nullable()
      .default(null)
      .describe(
        'The snapshot is that after this step of the run, or the one whose name begins with these digits. null ' +
          'takes that of the last step.',
      ),
    replace: replaceSchema,
  })
  .nullable()
  .default(null)
  .describe(
    'The run begins with adapters that an earlier run trained, in place of fresh ones. null begins with the model.',
  )
  .meta({ since: '0.2.0', earlier: null });

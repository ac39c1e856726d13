/** The keys of a run configuration that say which trained team a run begins with, and which policy is replaced. */
import { z } from 'zod';
import { pathTo, positive } from './keyKinds.ts';

const MOST_NAME = 200;

const fromSchema = z
  .strictObject({
    run: z
      .string()
      .min(1)
      .max(MOST_NAME)
      .nullable()
      .default(null)
      .describe('The run, in the same store, of the same model; the section needs one.'),
    snapshot: z
      .preprocess((value) => (typeof value === 'number' ? String(value) : value), z.string().min(1).max(MOST_NAME))
      .nullable()
      .default(null)
      .describe('A step of that run, or the first digits of one of its snapshots; null: its last step.'),
    role: z
      .string()
      .min(1)
      .max(MOST_NAME)
      .nullable()
      .default(null)
      .describe('Which of its policies; null: the one of the same role.'),
  })
  .nullable()
  .default(null)
  .describe('The policy that another run trained takes the place, in the place of `with`.');

const replaceSchema = z
  .strictObject({
    role: z
      .string()
      .min(1)
      .max(MOST_NAME)
      .nullable()
      .default(null)
      .describe('The role whose policy is replaced; the section needs one.'),
    with: pathTo('folder')
      .nullable()
      .default(null)
      .describe(
        "The folder of another policy's adapter in PEFT's layout, relative to this file, over the same " +
          'model and of the same rank, alpha and modules; null puts the model without an adapter there.',
      ),
    from: fromSchema,
    align: z
      .boolean()
      .default(true)
      .describe(
        'Stage 0: before the run begins, the new policy learns to say what the old one says, until its ' +
          'KL is at `delta`. false swaps directly.',
      ),
    probes: positive
      .max(10_000)
      .default(500)
      .describe(
        'Contexts in which the old policy speaks, at most: of episodes that the team before the swap ' +
          'samples on training questions, each context once.',
      ),
    delta: z
      .number()
      .positive()
      .max(100)
      .default(0.01)
      .describe(
        'Stage 0 ends where the mean KL of the old policy from the new one, summed over the tokens of a ' +
          'message, is at most this, in nats; measured on every fifth probe, which is not learned from. ' +
          'Over the whole vocabulary where it has up to 8,192 tokens, else from the sampled ones.',
      ),
    learning_rate: z
      .number()
      .positive()
      .default(3e-3)
      .describe(
        'Of the optimizer (AdamW) in stage 0, each of whose steps is on 100 probes; halved after ten steps without a smaller KL.',
      ),
    max_steps: positive.max(10_000).default(200).describe('Optimizer steps of stage 0, at most.'),
    measure: z
      .boolean()
      .default(true)
      .describe(
        'Evaluates the held-out questions greedily with the team before the swap, after a direct swap and after stage 0, so that the run shows what the swap cost.',
      ),
  })
  .nullable()
  .default(null)
  .describe('Replaces one policy of that team (plug and play). Needs `adapter: {per: role}`.');

export const beginSchema = z
  .strictObject({
    run: z
      .string()
      .min(1)
      .max(MOST_NAME)
      .nullable()
      .default(null)
      .describe('The earlier run, in the same store, of the same model; the section needs one.'),
    snapshot: z
      .preprocess((value) => (typeof value === 'number' ? String(value) : value), z.string().min(1).max(MOST_NAME))
      .nullable()
      .default(null)
      .describe('A step of that run, or the first digits of one of its snapshots; null: its last step.'),
    replace: replaceSchema,
  })
  .nullable()
  .default(null)
  .describe(
    'Begins with the adapters that an earlier run trained, in the place of fresh ones. null begins with the model.',
  )
  .meta({ since: '0.2.0', earlier: null });

/** The keys of a run configuration for rollout trees, under their published names. */

import { z } from 'zod';
import { enumKey, positive } from './keyKinds.ts';

export const magrpoSchema = z
  .strictObject({
    num_agents: positive
      .max(64)
      .default(2)
      .describe('A turn has this many messages, as many as the protocol has roles.'),
    num_turns: positive
      .max(64)
      .nullable()
      .default(null)
      .describe(
        'An episode has this many turns, in training and evaluation, in place of `turns` in the `rounds` of ' +
          'the protocol. null takes those of the protocol.',
      ),
    num_generations: z
      .int()
      .min(2, 'must be at least 2: one message has no siblings to be compared with')
      .max(64)
      .default(4)
      .describe('Each role has this many messages at each node of the tree (G).'),
    joint_mode: enumKey(['align', 'cross'], {
      align: 'The j-th messages of all roles together: G joint actions of a node.',
      cross:
        'Every combination of messages: G to the power of `num_agents`. The roles of a turn must not see each other.',
    })
      .default('align')
      .describe('These messages of a node form one joint action, which has its own reward and next turn.'),
    discount: z
      .number()
      .positive()
      .max(1)
      .default(0.9)
      .describe(
        'A reward of the next turn counts this much in the turn before it, in place of `discount` in the `rounds`.',
      ),
    termination_threshold: z
      .number()
      .nullable()
      .default(null)
      .describe(
        'A node whose mean processed reward is above this number has no further turn. null gives every node one.',
      ),
    reward_shift: z
      .number()
      .nullable()
      .default(null)
      .describe(
        'This number is added to every reward after it is scaled: with the published -4, rewards end at 0. ' +
          'null adds nothing.',
      ),
    reward_processor: z
      .strictObject({
        enabled: z.boolean().default(false).describe('true scales rewards.'),
        scale_factor: z
          .number()
          .default(1)
          .describe('Rewards are multiplied by this factor before `reward_shift` is added.'),
      })
      .prefault({})
      .describe(
        'Rewards are scaled by these keys before they are compared. Stored returns keep the rewards as they ' +
          'were given.',
      ),
    cross_reduce: enumKey(['sum', 'mean'], {
      sum: 'As published: with G messages of N roles, credits are G^(N-1) times as large as with `align`.',
      mean: 'Their mean: the learning rate means the same as with `align`.',
    })
      .default('sum')
      .describe('With `joint_mode: cross`, the returns of the joint actions of a message are combined by this.'),
  })
  .nullable()
  .default(null)
  .describe(
    'Methods magrpo and c3 sample a tree of turns, as in the published scripts: the joint actions of a node ' +
      'are scored and continued. With c3 a message is measured against the others of its role at the node ' +
      '(leave-one-out). null: magrpo samples whole episodes, c3 what `fanout` says.',
  )
  .meta({ since: '0.2.0', earlier: null });

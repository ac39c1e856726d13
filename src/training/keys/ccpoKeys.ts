/** The keys of a run configuration for the learning signal of method ccpo (CCPO, arXiv 2603.21563). */

import { z } from 'zod';
import { enumKey, share } from './keyKinds.ts';

export const ccpoSchema = z
  .strictObject({
    solo_prompt: enumKey(['bare', 'empty_plan'], {
      bare: 'As if the thinker had never spoken: the question alone, as the published code trains.',
      empty_plan:
        'The heading of the context with nothing below it, as the published code evaluates without a thinker.',
    })
      .default('bare')
      .describe('The solver reads this in a solo rollout, which leaves out the message of the thinker.')
      .meta({ earlier: 'bare' }),
    solo_draws: enumKey(['own', 'shared'], {
      own: 'Random numbers of their own, as the published code decodes. A thinker whose text changes nothing is then credited by chance, and drifts.',
      shared:
        'Those of the solver in the episode of their number, so that both say the same if the thinker changes nothing: any difference is due to the thinker.',
    })
      .default('own')
      .describe('Solo rollouts draw these random numbers.')
      .meta({ earlier: 'own' }),
    shaping: enumKey(['history', 'event', 'none'], {
      history: 'Scaled by running statistics of earlier steps, as published.',
      event:
        "As in the authors' later code: both learn from the return, from -1 to 1, and the thinker from a bonus on top, without running statistics.",
      none: 'The thinker learns from the return less the solo return itself, the solver from the return: unbiased.',
    })
      .default('history')
      .describe('This key turns returns with and without the thinker into the signal that both roles learn from.')
      .meta({ earlier: 'history' }),
    decay: share
      .default(0.99)
      .describe('The running statistics keep this share of their value in each step (lambda); 1 never changes them.')
      .meta({ earlier: 0.99 }),
    min_samples: z
      .int()
      .min(0)
      .default(10)
      .describe(
        'The running statistics are used once they hold this many returns; until then the returns are used as ' +
          'they are. The published code has 10, the paper says 50.',
      )
      .meta({ earlier: 10 }),
    order: enumKey(['previous', 'updated'], {
      previous: 'Those of the steps before, as the published code.',
      updated: 'Those that the step itself has updated, as the formulas of the paper.',
    })
      .default('previous')
      .describe('These running statistics scale the returns of a step.')
      .meta({ earlier: 'previous' }),
    alpha: z
      .number()
      .positive()
      .max(1000)
      .default(1)
      .describe('This number is the steepness of tanh, which bounds the signal of the thinker.')
      .meta({ earlier: 1 }),
    eta: z
      .number()
      .min(0)
      .max(1000)
      .default(1)
      .describe(
        'The gate of the solver follows the contribution of the thinker so far by this factor; 0 weighs both ' +
          'returns alike.',
      )
      .meta({ earlier: 1 }),
    bonus: enumKey(['event', 'difference'], {
      event: '1 if the return is above the middle and the solo return below it, -1 the other way round, else 0.',
      difference: 'Half of the return less the solo return, both from -1 to 1.',
    })
      .default('event')
      .describe('With `shaping: event`, the thinker gets this bonus for the change that it made.')
      .meta({ earlier: 'event' }),
    bonus_weight: z
      .number()
      .min(0)
      .max(1000)
      .default(0.2)
      .describe('With `shaping: event`, the bonus counts this much beside the return (lambda of the later code).')
      .meta({ earlier: 0.2 }),
    solo_baseline: enumKey(['question', 'rollout'], {
      question: 'The mean of the solo rollouts of the question.',
      rollout: 'The one solo rollout of the same number.',
    })
      .default('question')
      .describe('With `shaping: event`, a return is compared with this solo return.')
      .meta({ earlier: 'question' }),
    normalise: enumKey(['deviation', 'mean', 'none'], {
      deviation: 'To mean 0 and sample deviation 1, as published.',
      mean: "To mean 0 alone, as the authors' later code.",
      none: 'Not at all.',
    })
      .default('deviation')
      .describe('This key scales the signals of the rollouts of one question.')
      .meta({ earlier: 'deviation' }),
    ratio: enumKey(['token', 'message'], {
      token: 'That of each token.',
      message: "The geometric mean over the message, for each of its tokens, as the published code's turns.",
    })
      .default('token')
      .describe('The clip bounds this ratio to the policy that sampled. It matters only if a step has several updates.')
      .meta({ earlier: 'token' }),
    dual_clip: z
      .number()
      .gt(1)
      .max(1000)
      .nullable()
      .default(null)
      .describe(
        'Where the advantage is negative, a ratio counts at most this much (dual clip); null sets no bound. ' +
          'The published code has 3.',
      )
      .meta({ earlier: null }),
    alternate_every: z
      .int()
      .min(0)
      .default(0)
      .describe(
        'One role is updated in this many steps before the next role takes its turn; 0 updates all roles in ' +
          'every step. The published code has 10.',
      )
      .meta({ earlier: 0 }),
    alternate_first: enumKey(['thinker', 'solver'], {
      thinker: 'The first role of the protocol, as published.',
      solver: 'The second one.',
    })
      .default('thinker')
      .describe('With `alternate_every`, this role is updated first.')
      .meta({ earlier: 'thinker' }),
    voting: enumKey(['direct', 'allocation'], {
      direct: 'Each voter learns from its own contribution, scaled by running statistics of its own.',
      allocation:
        'The return of the vote, scaled within the question, is shared among the voters whose contribution is positive; nobody else learns. With `ties: expected` it can lower what the only right voter says.',
    })
      .default('direct')
      .describe('In a team that votes, this key turns the contribution of a voter into the signal that it learns from.')
      .meta({ earlier: 'direct' }),
    contribution: enumKey(['removal', 'shapley'], {
      removal: 'The reward of the vote less that of the vote without it, as published.',
      shapley: 'Its Shapley value: what it adds to the vote of those before it, the mean over all orders of voters.',
    })
      .default('removal')
      .describe(
        'In a team that votes, this key measures the contribution of a voter. Votes are counted again, and ' +
          'nothing is sampled.',
      )
      .meta({ earlier: 'removal' }),
  })
  .prefault({})
  .describe(
    'Method ccpo compares episodes with solo rollouts of the solver, or a vote with the vote without each ' +
      'voter, by these keys.',
  )
  .meta({ since: '0.2.0' });

/** The keys of a run configuration that say how method ccpo makes its learning signal (CCPO, arXiv 2603.21563). */
import { z } from 'zod';
import { oneOf, share } from './keyKinds.ts';

export const ccpoSchema = z
  .strictObject({
    solo_prompt: oneOf(['bare', 'empty_plan'], {
      bare: 'As if the thinker had never spoken: the question alone, as the published code trains.',
      empty_plan:
        'The heading of the context with nothing below it, as the published code evaluates without a thinker.',
    })
      .default('bare')
      .describe('What the solver reads in a solo rollout, which leaves out what the thinker said.')
      .meta({ earlier: 'bare' }),
    solo_draws: oneOf(['own', 'shared'], {
      own: 'Random numbers of their own, as the published code decodes. A thinker whose text changes nothing is then credited by chance, and drifts.',
      shared:
        'Those of the solver in the episode of their number, so that both say the same where the thinker changes nothing: what is left of the difference is due to the thinker.',
    })
      .default('own')
      .describe('Which random numbers solo rollouts draw.')
      .meta({ earlier: 'own' }),
    shaping: oneOf(['history', 'event', 'none'], {
      history: 'Scaled by running statistics of earlier steps, as published.',
      event:
        "As in the authors' later code: both learn from the return, from -1 to 1, and the thinker from a bonus on top, without running statistics.",
      none: 'The thinker learns from the return less the solo return itself, the solver from the return: unbiased.',
    })
      .default('history')
      .describe('How returns with and without the thinker become what is learned from.')
      .meta({ earlier: 'history' }),
    decay: share
      .default(0.99)
      .describe('What the running statistics keep of what they were, in each step (lambda); 1 never changes them.')
      .meta({ earlier: 0.99 }),
    min_samples: z
      .int()
      .min(0)
      .default(10)
      .describe(
        'Returns that the running statistics must hold before they are used; until then the returns are, as they are. The published code has 10, the paper says 50.',
      )
      .meta({ earlier: 10 }),
    order: oneOf(['previous', 'updated'], {
      previous: 'Those of the steps before, as the published code.',
      updated: 'Those that the step itself has updated, as the formulas of the paper.',
    })
      .default('previous')
      .describe('Which running statistics scale a step.')
      .meta({ earlier: 'previous' }),
    alpha: z
      .number()
      .positive()
      .max(1000)
      .default(1)
      .describe('The steepness of tanh, which bounds what the thinker learns from.')
      .meta({ earlier: 1 }),
    eta: z
      .number()
      .min(0)
      .max(1000)
      .default(1)
      .describe(
        'How far the gate of the solver follows what the thinker contributed so far; 0 weighs both returns alike.',
      )
      .meta({ earlier: 1 }),
    bonus: oneOf(['event', 'difference'], {
      event: '1 where the return is above the middle and the solo return below it, -1 the other way round, else 0.',
      difference: 'Half of the return less the solo return, both from -1 to 1.',
    })
      .default('event')
      .describe('With `shaping: event`, what the thinker gets for what it changed.')
      .meta({ earlier: 'event' }),
    bonus_weight: z
      .number()
      .min(0)
      .max(1000)
      .default(0.2)
      .describe('With `shaping: event`, what the bonus counts beside the return (lambda of the later code).')
      .meta({ earlier: 0.2 }),
    solo_baseline: oneOf(['question', 'rollout'], {
      question: 'The mean of the solo rollouts of the question.',
      rollout: 'The one solo rollout of the same number.',
    })
      .default('question')
      .describe('With `shaping: event`, the solo return that a return is compared with.')
      .meta({ earlier: 'question' }),
    normalise: oneOf(['deviation', 'mean', 'none'], {
      deviation: 'To mean 0 and sample deviation 1, as published.',
      mean: "To mean 0 alone, as the authors' later code.",
      none: 'Not at all.',
    })
      .default('deviation')
      .describe('How what is learned from is scaled among the rollouts of each question.')
      .meta({ earlier: 'deviation' }),
    ratio: oneOf(['token', 'message'], {
      token: 'That of each token.',
      message: "The geometric mean over the message, for each of its tokens, as the published code's turns.",
    })
      .default('token')
      .describe('Which ratio to the policy that sampled is clipped. It matters only where a step has several updates.')
      .meta({ earlier: 'token' }),
    dual_clip: z
      .number()
      .gt(1)
      .max(1000)
      .nullable()
      .default(null)
      .describe(
        'What a ratio counts at most where the advantage is negative (dual clip); null bounds none. The published code has 3.',
      )
      .meta({ earlier: null }),
    alternate_every: z
      .int()
      .min(0)
      .default(0)
      .describe(
        'Steps in which one role is updated before it is the turn of the next; 0 updates all in every ' +
          'step. The published code has 10.',
      )
      .meta({ earlier: 0 }),
    alternate_first: oneOf(['thinker', 'solver'], {
      thinker: 'The first role of the protocol, as published.',
      solver: 'The second one.',
    })
      .default('thinker')
      .describe('Which role is updated first, with `alternate_every`.')
      .meta({ earlier: 'thinker' }),
    voting: oneOf(['direct', 'allocation'], {
      direct: 'Each voter learns from its own contribution, scaled by running statistics of its own.',
      allocation:
        'The return of the vote, scaled within the question, is shared among the voters whose contribution is positive; nobody else learns. With `ties: expected` it can lower what the only right voter says.',
    })
      .default('direct')
      .describe('For a team that votes: how what each voter contributed becomes what it learns from.')
      .meta({ earlier: 'direct' }),
    contribution: oneOf(['removal', 'shapley'], {
      removal: 'The reward of the vote less that of the vote without it, as published.',
      shapley: 'Its Shapley value: what it adds to the vote of those before it, the mean over all orders of voters.',
    })
      .default('removal')
      .describe('For a team that votes: what a voter contributed. Votes are counted again, and nothing is sampled.')
      .meta({ earlier: 'removal' }),
  })
  .prefault({})
  .describe(
    'What method ccpo learns from: returns with the thinker against solo rollouts of the solver, or a vote against the vote without each voter.',
  )
  .meta({ since: '0.2.0' });

/** The keys of a run configuration for the trust region of each role in method teamtr. */

import { z } from 'zod';
import { enumKey, positive } from './keyKinds.ts';

export const teamTrSchema = z
  .strictObject({
    resample_every: positive
      .nullable()
      .default(1)
      .describe(
        'The team samples fresh episodes before every n-th turn: with 1, each role learns from episodes of the ' +
          'team as the roles before left it. null samples once in a step, before the first turn. The samplings ' +
          'of a step share `evaluator_budget` evenly.',
      )
      .meta({ earlier: 1 }),
    reuse: enumKey(['as_is', 'weighted'], {
      as_is: 'They count as they were sampled (naive sequential).',
      weighted:
        'Each episode counts by its importance weight: how much likelier the messages of the roles ' +
        'updated since have become in it.',
    })
      .default('as_is')
      .describe(
        'This key says how much episodes of an earlier turn count. It matters if `resample_every` lets ' +
          'later turns learn from them too.',
      )
      .meta({ earlier: 'as_is' }),
    weight_cap: z
      .number()
      .min(1)
      .max(20000)
      .nullable()
      .default(null)
      .describe(
        'With `reuse: weighted`, this number bounds the importance weight of an episode. null bounds it at e^10.',
      )
      .meta({ earlier: null }),
    order: enumKey(['fixed', 'reverse', 'round_robin', 'random', 'gain'], {
      fixed: 'As the protocol lists its roles.',
      reverse: 'The other way round.',
      round_robin: 'As the protocol lists its roles, each step beginning with the one after that of the step before.',
      random: 'Drawn from the seed, for each step anew.',
      gain: 'First those whose last turn gained most by the surrogate; those without one before all others.',
    })
      .default('fixed')
      .describe('The roles of a team are updated in this order in each step.')
      .meta({ earlier: 'fixed' }),
    delta: z
      .number()
      .positive()
      .max(100)
      .default(0.01)
      .describe(
        'A role may move this far in a step, in nats: its largest mean KL from the policy that sampled its ' +
          'messages, summed over the tokens of a message.',
      )
      .meta({ earlier: 0.01 }),
    kl_estimator: enumKey(['k3', 'k1', 'exact'], {
      k3: 'From the sampled tokens; never below 0.',
      k1: 'The mean log-ratio of the sampled tokens, as published; it may be below 0 by chance.',
      exact: 'Over the whole vocabulary at every token; for vocabularies of up to 8,192 tokens.',
    })
      .default('k3')
      .describe('This key measures the KL that `delta` bounds.')
      .meta({ earlier: 'k3' }),
    held_out: z
      .int()
      .min(2)
      .max(1000)
      .nullable()
      .default(null)
      .describe(
        "A role's contexts are divided into this many parts, drawn from the seed. The KL is measured on one " +
          'part, and the role learns from the others. null learns from all contexts and measures on all.',
      )
      .meta({ earlier: null }),
    epochs: positive
      .max(1000)
      .default(4)
      .describe(
        "A role makes at most this many optimizer steps in a step of the run, each on all of the role's messages.",
      )
      .meta({ earlier: 4 }),
    clip: z
      .number()
      .gt(0)
      .lt(1)
      .default(0.2)
      .describe(
        "The ratio of a whole message, the product of its tokens' ratios, is clipped to 1 plus and minus this number.",
      )
      .meta({ earlier: 0.2 }),
    advantage_clip: z
      .number()
      .positive()
      .nullable()
      .default(3)
      .describe(
        'Advantages are clipped to plus and minus this number, in the unit that `advantage_scale` leaves: ' +
          'standard deviations by default. null clips none.',
      )
      .meta({ earlier: 3 }),
    advantage_scale: enumKey(['variance', 'deviation', 'none'], {
      variance: "The root of the variance of a problem's returns and `advantage_epsilon`, as published.",
      deviation: 'Their deviation and `advantage_epsilon`, as in the appendix.',
      none: 'Nothing: advantages are in units of the return, and so is their clip (without group normalization).',
    })
      .default('variance')
      .describe('An advantage is the distance of a return from the mean of its problem, divided by this.')
      .meta({ earlier: 'variance' }),
    advantage_epsilon: z
      .number()
      .positive()
      .max(1)
      .default(1e-6)
      .describe(
        "This number is added to the variance of a problem's returns, or to their deviation, as " +
          '`advantage_scale` says. It keeps the divisor above 0.',
      )
      .meta({ earlier: 1e-6 }),
    beta: z
      .number()
      .min(0)
      .max(1e6)
      .default(1)
      .describe('Each role begins the run with this weight of the KL penalty; 0 turns the penalty off.')
      .meta({ earlier: 1 }),
    beta_factor: z
      .number()
      .min(1)
      .max(1000)
      .default(2)
      .describe(
        'The weight of the KL penalty is multiplied by this factor after an optimizer step whose KL is too ' +
          'high, and divided by it if the KL is too low (`beta_tolerance`). 1 keeps the weight. It stays ' +
          'between a millionth and a million.',
      )
      .meta({ earlier: 2 }),
    beta_tolerance: z
      .number()
      .min(1)
      .max(1000)
      .default(1.5)
      .describe('A KL is too high above `delta` times this factor, and too low below `delta` divided by it.')
      .meta({ earlier: 1.5 }),
    stop: z
      .number()
      .positive()
      .max(1000)
      .default(0.9)
      .describe('The turn of a role ends when its KL reaches this share of `delta`.')
      .meta({ earlier: 0.9 }),
    backtrack: z
      .number()
      .gt(0)
      .lt(1)
      .default(0.5)
      .describe(
        'A role whose KL is above `delta` keeps this share of the change of its weights. This is repeated ' +
          'until the KL is within `delta`.',
      )
      .meta({ earlier: 0.5 }),
    backtrack_tries: z
      .int()
      .min(0)
      .max(100)
      .default(8)
      .describe(
        'The change of a role is shortened at most this many times (`backtrack`); then it is undone. 0 undoes ' +
          'it at once.',
      )
      .meta({ earlier: 8 }),
    certificate_gamma: z
      .number()
      .gt(0)
      .lt(1)
      .default(0.5)
      .describe(
        'The certificate of a step and the bound on the shift of its contexts use this discount. Nothing is ' +
          'learned from them. With a discount near 1 they are vacuous.',
      )
      .meta({ earlier: 0.5 }),
    certificate_bound: z
      .number()
      .positive()
      .max(1e6)
      .default(1)
      .describe(
        'The certificate takes this number as the largest distance of an advantage from 0, in units of the ' +
          'return: 1 for scores from 0 to 1. A larger advantage of the step replaces it.',
      )
      .meta({ earlier: 1 }),
    certificate_confidence: z
      .number()
      .gt(0)
      .lt(1)
      .default(0.95)
      .describe('The high-probability certificate holds with this probability.')
      .meta({ earlier: 0.95 }),
    diagnostics: z
      .boolean()
      .default(false)
      .describe(
        'true measures more in each step: how stale its first episodes become with each turn, the drift of the ' +
          'team, the parts of the zeta proxy, and the error of a KL on some of the tokens. It scores messages ' +
          'once more and changes nothing that is learned.',
      )
      .meta({ earlier: false }),
    rank_shifts: z
      .boolean()
      .default(false)
      .describe(
        'true measures how each update changed the probabilities of tokens by their rank before it, before an ' +
          'update that left the trust region goes back. It needs a vocabulary of at most 8,192 tokens and ' +
          'changes nothing that is learned.',
      )
      .meta({ earlier: false }),
  })
  .prefault({})
  .describe('Method teamtr updates one role after the other, each within its trust region, by these keys.')
  .meta({ since: '0.2.0' });

/** The keys of a run configuration that say how method teamtr holds each role in its trust region. */
import { z } from 'zod';
import { oneOf, positive } from './keyKinds.ts';

export const teamTrSchema = z
  .strictObject({
    resample_every: positive
      .nullable()
      .default(1)
      .describe(
        'Samples fresh episodes before every so many turns: with 1 each role learns from those of the ' +
          'team as the roles before left it. null samples once in a step, before any role is updated. ' +
          '`evaluator_budget` is split evenly over the samplings of a step.',
      )
      .meta({ earlier: 1 }),
    reuse: oneOf(['as_is', 'weighted'], {
      as_is: 'They count as they were sampled (naive sequential).',
      weighted:
        'Each episode counts by its importance weight: how much likelier the messages of the roles ' +
        'updated since have become in it.',
    })
      .default('as_is')
      .describe(
        'What the episodes of an earlier turn count where `resample_every` lets later turns learn from them too.',
      )
      .meta({ earlier: 'as_is' }),
    weight_cap: z
      .number()
      .min(1)
      .max(20000)
      .nullable()
      .default(null)
      .describe(
        'With `reuse: weighted`, a larger importance weight counts as this; null leaves them as they are, up to e^10.',
      )
      .meta({ earlier: null }),
    order: oneOf(['fixed', 'reverse', 'round_robin', 'random', 'gain'], {
      fixed: 'As the protocol lists its roles.',
      reverse: 'The other way round.',
      round_robin: 'As the protocol lists its roles, each step beginning with the one after that of the step before.',
      random: 'Drawn from the seed, for each step anew.',
      gain: 'First those whose last turn gained most by the surrogate; those without one before all others.',
    })
      .default('fixed')
      .describe('In which order the roles are updated in a step.')
      .meta({ earlier: 'fixed' }),
    delta: z
      .number()
      .positive()
      .max(100)
      .default(0.01)
      .describe(
        'How far a role may move in a step: the largest mean KL of its messages from the policy that ' +
          'sampled them, summed over the tokens of a message, in nats.',
      )
      .meta({ earlier: 0.01 }),
    kl_estimator: oneOf(['k3', 'k1', 'exact'], {
      k3: 'From the sampled tokens; never below 0.',
      k1: 'The mean log-ratio of the sampled tokens, as published; it may be below 0 by chance.',
      exact: 'Over the whole vocabulary at every token; for vocabularies of up to 8,192 tokens.',
    })
      .default('k3')
      .describe('How the KL that `delta` bounds is measured.')
      .meta({ earlier: 'k3' }),
    held_out: z
      .int()
      .min(2)
      .max(1000)
      .nullable()
      .default(null)
      .describe(
        "Measures the KL on one of this many parts of a role's contexts, drawn from the seed, and learns " +
          'from the others only. null learns from all and measures on all.',
      )
      .meta({ earlier: null }),
    epochs: positive
      .max(1000)
      .default(4)
      .describe("Optimizer steps of a role in a step of the run, at most; each is on all of the role's messages.")
      .meta({ earlier: 4 }),
    clip: z
      .number()
      .gt(0)
      .lt(1)
      .default(0.2)
      .describe("The ratio of a whole message, the product of its tokens' ratios, is clipped to 1 plus and minus this.")
      .meta({ earlier: 0.2 }),
    advantage_clip: z
      .number()
      .positive()
      .nullable()
      .default(3)
      .describe(
        'Advantages are clipped to plus and minus this, in what `advantage_scale` leaves, standard deviations by default; null clips none.',
      )
      .meta({ earlier: 3 }),
    advantage_scale: oneOf(['variance', 'deviation', 'none'], {
      variance: "The root of the variance of a problem's returns and `advantage_epsilon`, as published.",
      deviation: 'Their deviation and `advantage_epsilon`, as in the appendix.',
      none: 'Nothing: advantages are in units of the return, and so is their clip (without group normalization).',
    })
      .default('variance')
      .describe('By what the distance of a return from the mean of its problem is divided.')
      .meta({ earlier: 'variance' }),
    advantage_epsilon: z
      .number()
      .positive()
      .max(1)
      .default(1e-6)
      .describe("Added to the variance of a problem's returns, or to their deviation, by `advantage_scale`.")
      .meta({ earlier: 1e-6 }),
    beta: z
      .number()
      .min(0)
      .max(1e6)
      .default(1)
      .describe('The weight of the KL penalty with which each role begins the run; 0 turns it off.')
      .meta({ earlier: 1 }),
    beta_factor: z
      .number()
      .min(1)
      .max(1000)
      .default(2)
      .describe(
        'After each optimizer step the weight is multiplied by this where the KL is above the tolerance, and divided where it is below; 1 keeps it. It stays between a millionth and a million.',
      )
      .meta({ earlier: 2 }),
    beta_tolerance: z
      .number()
      .min(1)
      .max(1000)
      .default(1.5)
      .describe('The weight changes where the KL is above `delta` times this, or below `delta` divided by it.')
      .meta({ earlier: 1.5 }),
    stop: z
      .number()
      .positive()
      .max(1000)
      .default(0.9)
      .describe('A role is not updated further in a step once its KL has come to this share of `delta`.')
      .meta({ earlier: 0.9 }),
    backtrack: z
      .number()
      .gt(0)
      .lt(1)
      .default(0.5)
      .describe(
        'A role whose KL is above `delta` goes back to this share of the way that its weights have gone, ' +
          'again and again until it is not.',
      )
      .meta({ earlier: 0.5 }),
    backtrack_tries: z
      .int()
      .min(0)
      .max(100)
      .default(8)
      .describe('How often, at most; then its update is undone. 0 undoes it at once.')
      .meta({ earlier: 8 }),
    certificate_gamma: z
      .number()
      .gt(0)
      .lt(1)
      .default(0.5)
      .describe(
        'The discount with which the certificate of a step is computed, and the bound on the shift of its contexts; nothing is learned from them. Near 1 they are vacuous.',
      )
      .meta({ earlier: 0.5 }),
    certificate_bound: z
      .number()
      .positive()
      .max(1e6)
      .default(1)
      .describe(
        'How far an advantage is from 0, at most, in units of the return, as the certificate takes it: 1 for scores from 0 to 1. Where a step shows a larger one, that counts.',
      )
      .meta({ earlier: 1 }),
    certificate_confidence: z
      .number()
      .gt(0)
      .lt(1)
      .default(0.95)
      .describe('The probability of the high-probability certificate.')
      .meta({ earlier: 0.95 }),
    diagnostics: z
      .boolean()
      .default(false)
      .describe(
        'Measures more in each step: how stale its first episodes become with each turn, how far the team drifts from what sampled them, the parts of the zeta proxy, and how reliable the KL is on a part of the tokens. It scores messages once more and changes nothing that is learned.',
      )
      .meta({ earlier: false }),
    rank_shifts: z
      .boolean()
      .default(false)
      .describe(
        'Measures for each update how it moved the probabilities of tokens by their rank before it, of those that left the trust region before they went back; for vocabularies of up to 8,192 tokens. It changes nothing that is learned.',
      )
      .meta({ earlier: false }),
  })
  .prefault({})
  .describe('How method teamtr updates one role after the other, each within its trust region.')
  .meta({ since: '0.2.0' });

/** The keys of a run configuration for turning returns into credit. */

import { z } from 'zod';
import { CONFIGURABLE_ESTIMATORS } from '../../credit/estimators.ts';
import { tableKey, enumKey, share } from './keyKinds.ts';

export const creditSchema = z
  .strictObject({
    estimator: tableKey(CONFIGURABLE_ESTIMATORS)
      .default('loo')
      .describe('Method c3 measures a message against this baseline; the other methods bring their own.'),
    alpha: share.default(1).describe('With `estimator: value_assisted`, the values have this weight.'),
    group_normalise: z
      .boolean()
      .default(false)
      .describe(
        'true turns credits into z-scores within a group. It erases ablations: c3 and c3_full_mean then give ' +
          'the same advantages, and so do c3_no_replay and magrpo.',
      ),
    normalise_scope: enumKey(['published', 'group'], {
      published: 'As the published code of each method: mappo over the step, the others over what was compared.',
      group: 'Over what was compared with each other, for mappo too.',
    })
      .default('published')
      .describe('Mean and deviation of `group_normalise` are taken over this.')
      .meta({ since: '0.2.0', earlier: 'group' }),
    common_random_numbers: z
      .boolean()
      .default(false)
      .describe(
        'true lets replay m of one alternative draw the same random numbers in training as replay m of its ' +
          'siblings. Equal alternatives then have equal continuations, and nothing is learned from the second ' +
          'one. Replays on request always share numbers; whole episodes never do.',
      )
      .meta({ earlier: true, alwaysStored: true }),
    merge_contexts: z
      .boolean()
      .default(true)
      .describe(
        'true compares the alternatives of all equal contexts of a problem in a step with each other, as ' +
          'Algorithm 1 keys them, and equal alternatives share one credit. false compares siblings only. Methods ' +
          'of whole episodes have no contexts to merge.',
      )
      .meta({ since: '0.2.0', earlier: false }),
    lone_messages: enumKey(['none', 'parent'], {
      none: 'It has no credit, and nothing is learned from it.',
      parent:
        'The credit of the message before it, as whole episodes have: unbiased, and the role learns. Never on ' +
        'common random numbers.',
    })
      .default('parent')
      .describe('Methods c3 and c3_full_mean give this credit to a message without alternatives in its context.')
      .meta({ since: '0.2.0', earlier: 'none' }),
    return_clip: z.number().positive().default(10).describe('Returns are clipped to plus and minus this number.'),
  })
  .prefault({})
  .describe('These keys say how returns become credit.');

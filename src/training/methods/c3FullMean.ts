/**
 * The paper's ablation "w/o LOO": C3 with the mean of all alternatives, the message's own included, as
 * the baseline.
 *
 *   b   = sum over i of c_i R_i / sum over i of c_i    (26)
 *   A_j = R_j - b
 */

import { c3 } from './c3.ts';
import type { Method } from './method.ts';
import { updateByPpo } from './ppo.ts';
import { planReplayTrees, findTreeFault } from './tree.ts';

export const c3FullMean: Method = {
  words: {
    label: 'C3 with full mean',
    help: 'c3 without leave-one-out: the baseline of a message includes its own return.',
    summary: 'as C3, but the baseline is the mean of all alternatives, the message itself included.',
    reads: ['shape', 'fanout', 'credit.common_random_numbers', 'credit.merge_contexts', 'credit.lone_messages'],
    trains: true,
  },
  compared: 'context',
  estimator: () => 'full_mean',
  valueTarget: () => null,
  fault: findTreeFault,
  remarks: ({ credit }) =>
    credit.group_normalise
      ? [
          'With credit.group_normalise c3_full_mean gives the advantages of c3: scaling erases the factor n / (n - 1) between them, so this ablation changes nothing.',
        ]
      : [],

  plan: planReplayTrees,

  credit: (step) =>
    c3.credit({ ...step, settings: { ...step.settings, credit: { ...step.settings.credit, estimator: 'full_mean' } } }),

  updates: updateByPpo,
};

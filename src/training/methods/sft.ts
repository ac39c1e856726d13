/**
 * The team as it is (reference section 4.3): nothing is sampled for training and nothing is learned,
 * so the run is only its evaluation.
 */

import type { Method } from './method.ts';

export const sft: Method = {
  words: {
    label: 'SFT',
    help: 'The team without training: nothing is learned, whatever `steps` says.',
    summary: 'the team as it comes, not trained further.',
    reads: [],
    trains: false,
  },
  compared: 'context',
  estimator: () => 'loo',
  valueTarget: () => null,
  fault: () => null,
  remarks: () => [],

  plan: () => [],

  credit: () => ({ credits: new Map() }),

  *updates() {},
};

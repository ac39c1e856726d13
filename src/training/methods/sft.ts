/**
 * The team as it is (reference section 4.3): nothing is sampled to learn from, nothing is learned; the evaluation is
 * the whole run.
 */
import type { Method } from './method.ts';

export const sft: Method = {
  compared: 'context',
  estimator: () => 'loo',
  valueTarget: () => null,
  problem: () => null,
  remarks: () => [],

  plan: () => [],

  credit: () => ({ credits: new Map() }),

  *updates() {
    // Nothing is learned.
  },
};

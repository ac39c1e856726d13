/** The team as it is (reference section 4.3): nothing is sampled to learn from, nothing is learned; both evaluations are the whole run. */
import type { Method } from './method.ts';

export const sft: Method = {
  fanout: (_, protocol) => protocol.occurrences.map(() => 0),
  problem: () => null,
  commonRandomNumbers: () => false,
  estimator: () => 'loo',
  compared: 'context',
  judged: () => null,
  credits: () => (alternatives) => alternatives.map(() => null),
};

/** The configured fan-out as trees, for C3 and its ablation "w/o LOO", and checks of the budget. */

import type { Protocol } from '../../team/protocol.ts';
import { countFanoutCalls, countMostMessages } from '../../team/rounds.ts';
import { findAutoFault, planAutoTree } from './autoTree.ts';
import type { Method, MethodSettings } from './method.ts';
import { planSpineFanout, findSpineFault } from './spine.ts';

/** Plans trees (Algorithm 1): a message's leaves are its replays, its siblings the alternatives. */
export const planReplayTrees: Method['plan'] = (settings, protocol, _, earlier) => {
  const { shape, fanout, credit } = settings;
  const commonRandomNumbers = credit.common_random_numbers;
  if (shape === 'auto') {
    return [planAutoTree(settings, protocol, earlier?.state ?? null)];
  }
  return shape === 'nested'
    ? [{ fanout, commonRandomNumbers, ...(settings.fanout_unique && { unique: true }) }]
    : [{ fanout: planSpineFanout(settings, protocol, earlier?.spread ?? null), commonRandomNumbers, shape: 'spine' }];
};

/** Returns the reason why `fanout_unique` does not fit a configuration, or null. */
export function findUniqueFault(settings: MethodSettings, { occurrences, rounds }: Protocol): string | null {
  const { fanout_unique: unique, fanout, shape, credit } = settings;
  if (!unique) {
    return null;
  }
  const last = occurrences.length - 1;
  const isDetermined =
    rounds === undefined && last > 0 && occurrences.every(({ scored }, index) => scored === (index === last));
  if (!isDetermined) {
    return 'fanout_unique needs a protocol without rounds, of two or more messages of which the last alone is scored; turn it off.';
  }
  if (shape !== 'nested' || (fanout.at(-1) ?? 1) < 2) {
    return 'fanout_unique needs shape nested with a last fan-out of 2 or more; turn it off, or change these.';
  }
  const { estimator, merge_contexts: merged, common_random_numbers: common, group_normalise: scaled } = credit;
  return estimator === 'loo' && merged && !common && !scaled
    ? null
    : 'fanout_unique needs credit.estimator loo with merge_contexts, and neither common_random_numbers nor group_normalise; turn it off, or change these.';
}

export const findTreeFault: Method['fault'] = (settings, protocol) => {
  const { shape, fanout, evaluator_budget: budget } = settings;
  if (shape === 'auto') {
    return findAutoFault(settings, protocol);
  }
  if (shape !== 'nested') {
    return findSpineFault(settings, protocol);
  }
  const messages = countMostMessages(protocol);
  if (protocol.rounds === undefined && fanout.length !== messages) {
    return (
      `fanout has ${fanout.length} numbers where the protocol ${protocol.name} has ` +
      `${messages} messages; give one for each.`
    );
  }
  if (fanout.length > messages) {
    return (
      `fanout has ${fanout.length} numbers where an episode of the protocol ${protocol.name} has ` +
      `at most ${messages} messages; leave some out.`
    );
  }
  const calls = countFanoutCalls(protocol, fanout);
  if (calls <= budget) {
    return null;
  }
  const needed = `fanout [${fanout.join(', ')}] needs ${calls} evaluator calls per problem with the protocol ${protocol.name}`;
  return `${needed}, more than evaluator_budget (${budget}); change one of the two.`;
};

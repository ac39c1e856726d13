/**
 * What C3 and its ablation "w/o LOO" share: the configured fan-out as a tree, and the check that the budget pays for
 * it.
 */
import { callsOfFanout, decisionsAtMost } from '../../team/rounds.ts';
import type { Method } from './method.ts';
import { spineFanout, spineProblem } from './spine.ts';

/** Trees (Algorithm 1): the leaves below a message are its replays, its siblings what it is compared with. */
export const replayTrees: Method['plan'] = (settings, protocol, _, spread = null) => {
  const { shape, fanout, credit } = settings;
  const commonRandomNumbers = credit.common_random_numbers;
  return shape === 'nested'
    ? [{ fanout, commonRandomNumbers }]
    : [{ fanout: spineFanout(settings, protocol, spread), commonRandomNumbers, shape: 'spine' }];
};

export const treeProblem: Method['problem'] = (settings, protocol) => {
  const { shape, fanout, evaluator_budget: budget } = settings;
  if (shape !== 'nested') {
    return spineProblem(settings, protocol);
  }
  const decisions = decisionsAtMost(protocol);
  if (protocol.rounds === undefined && fanout.length !== decisions) {
    return `fanout has ${String(fanout.length)} numbers where the protocol ${protocol.name} has ${String(decisions)} decisions; give one for each.`;
  }
  if (fanout.length > decisions) {
    return `fanout has ${String(fanout.length)} numbers where an episode of the protocol ${protocol.name} has at most ${String(decisions)} decisions; leave some out.`;
  }
  const calls = callsOfFanout(protocol, fanout);
  if (calls <= budget) {
    return null;
  }
  const needed = `fanout [${fanout.join(', ')}] needs ${String(calls)} evaluator calls per instance with the protocol ${protocol.name}`;
  return `${needed}, more than evaluator_budget (${String(budget)}); change one of the two.`;
};

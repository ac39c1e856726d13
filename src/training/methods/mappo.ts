/**
 * MAPPO (reference section 4.1): whole episodes; a message's advantage is the sum of the rewards from it on minus the value of the state in which it was said.
 * That is generalised advantage estimation with gamma = lambda = 1. Advantages are neither scaled over the batch nor divided by the message's length, as the
 * published code does for this method alone: all methods learn alike here.
 */
import { creditGroup } from '../../credit/estimators.ts';
import { alternativeReturns, type AlternativeReturns } from '../../replay/record.ts';
import type { TreeNode } from '../../replay/tree.ts';
import type { Credit } from '../../shared/records/records.ts';
import { episodesProblem, wholeEpisodes } from './episodes.ts';
import type { Method } from './method.ts';

export const mappo: Method = {
  ...wholeEpisodes,
  // A value stands for the episodes that one would be compared with.
  problem: episodesProblem(1),
  judged: () => 'state',
  estimator: () => 'mappo',
  credits: (_, { credit: { return_clip: bound } }, values) => (__, siblings) => siblings.map((node) => againstState(node, values.get(node), bound)),
};

/** @param value of the state in which the message was said */
function againstState(node: TreeNode, value: number | undefined, bound: number): Credit | null {
  return stateCredit(alternativeReturns(node, bound), rewardsBefore(node), value);
}

/**
 * The credit of one message: the mean of what followed it minus the value of its state (C3 appendix I: A_j = mean return - V(h)), with the interval of that mean.
 * @param before what the messages before it scored, which the returns hold and the value does not
 * @throws C3Error('input') without a finite value
 */
export function stateCredit({ returns, evaluatorCalls }: AlternativeReturns, before: number, value: number | undefined): Credit | null {
  const following = returns.map((total) => (total === null ? null : total - before));
  return creditGroup({ alternatives: [{ returns: following, evaluatorCalls }], value }, 'mappo')[0] ?? null;
}

/** What the messages before this one scored; a masked one masks the whole episode, so it is not asked for then. */
function rewardsBefore({ parent }: TreeNode): number {
  return parent === null ? 0 : (parent.score?.score ?? 0) + rewardsBefore(parent);
}

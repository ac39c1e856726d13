/**
 * MAPPO (reference section 4.1). Whole episodes with the rewards r_0 ... r_T of their messages, and a
 * learned value V(s_t) of the state before message t:
 *
 *   A_t = r_t + r_(t+1) + ... + r_T - V(s_t)
 *
 * This is generalized advantage estimation with gamma = lambda = 1. V learns from the same sums before
 * the policy moves; then PPO on A. The published code scales advantages over the batch and divides
 * them by the message's length for this method only. It is not done here, so that all methods learn
 * in the same way.
 */

import { creditGroup } from '../../credit/estimators.ts';
import { alternativeReturns, type AlternativeReturns, type TreeMessage } from '../../replay/tree.ts';
import type { Credit } from '../../shared/credit/credit.ts';
import { makeEpisodesCheck, planWholeEpisodes } from './episodes.ts';
import { walkEpisode, type Method } from './method.ts';
import { listTaughtAfterWarmup, updateValuesAndPolicy } from './ppo.ts';

export const mappo: Method = {
  words: {
    label: 'MAPPO',
    help: 'Compares whole episodes with a learned value of the state, one for each role.',
    summary: 'a centralized value head on the state is the baseline.',
    reads: ['value_head'],
    trains: true,
  },
  compared: 'problem',
  // C3 reference section 4.1: advantage normalization has the scope `global` by default.
  scaledOver: 'step',
  estimator: () => 'mappo',
  valueTarget: () => 'state',
  // The value is the baseline, so one episode is enough.
  fault: makeEpisodesCheck(1),
  remarks: ({ credit }) =>
    credit.group_normalise && credit.normalise_scope === 'group'
      ? [
          'With credit.group_normalise and normalise_scope: group mappo gives the first role the advantages of magrpo: all its messages of a problem answer one state, ' +
            'and scaling takes its value out again.',
        ]
      : [],

  plan: planWholeEpisodes,

  credit({ problems, settings, values }) {
    const credits = new Map<TreeMessage, Credit>();
    for (const message of problems.flat().flatMap((episode) => [...walkEpisode(episode)])) {
      const own = creditByStateValue(
        alternativeReturns(message, settings.credit.return_clip),
        sumRewardsBefore(message),
        values.get(message),
      );
      if (own !== null) {
        credits.set(message, own);
      }
    }
    return { credits };
  },

  updates: updateValuesAndPolicy,
  taught: listTaughtAfterWarmup,
};

/**
 * Returns the credit of one message: the mean return that followed it minus the value of its state (C3
 * appendix I: A_j = mean return - V(h)), with the interval of that mean.
 * @param before the scores of the messages before it, which the returns include and the value does not
 * @throws C3Error('input') without a finite value
 */
export function creditByStateValue(
  { returns, evaluatorCalls }: AlternativeReturns,
  before: number,
  value: number | undefined,
): Credit | null {
  const following = returns.map((total) => (total === null ? null : total - before));
  return creditGroup({ alternatives: [{ returns: following, evaluatorCalls }], value }, 'mappo')[0] ?? null;
}

/**
 * Returns the total score of the messages before this one. A masked score masks the whole episode, so
 * the total is not used then.
 */
function sumRewardsBefore({ parent }: TreeMessage): number {
  return parent === null ? 0 : (parent.score?.score ?? 0) + sumRewardsBefore(parent);
}

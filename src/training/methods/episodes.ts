/** Whole episodes of a problem within the evaluator budget, for the methods without replay. */

import { creditIfComparable } from '../../credit/compared.ts';
import type { CreditEstimator } from '../../credit/estimators.ts';
import { alternativeReturns, type TreeMessage } from '../../replay/tree.ts';
import type { Credit } from '../../shared/credit/credit.ts';
import type { Protocol } from '../../team/protocol.ts';
import { countMostScores } from '../../team/rounds.ts';
import { walkEpisode, type Method, type MethodSettings, type Rollout, type SampledStep } from './method.ts';

/**
 * Returns the number of whole episodes that the budget pays for, at one evaluator call per scored
 * message. All stages of a step have the same number.
 */
const countAffordedEpisodes = ({ evaluator_budget: budget }: MethodSettings, protocol: Protocol, stages = 1): number =>
  Math.floor(budget / (stages * Math.max(1, countMostScores(protocol))));

/**
 * Plans whole episodes. They share no random numbers even with `credit.common_random_numbers`: their
 * baseline holds replay m of other alternatives, and a replay with the same random numbers as the
 * message would bias the gradient.
 */
export const planWholeEpisodes: Method['plan'] = (settings, protocol) => planStageEpisodes(settings, protocol, 1);

/** Plans the whole episodes of one stage, for methods with stages. */
export const planStageEpisodes = (settings: MethodSettings, protocol: Protocol, stages: number): readonly Rollout[] => [
  { fanout: [countAffordedEpisodes(settings, protocol, stages)], commonRandomNumbers: false },
];

/**
 * Returns a check that refuses a budget with too few episodes of a problem: two are needed if they are
 * compared with each other.
 */
export function makeEpisodesCheck(least: 1 | 2, stagesOf?: Method['stages']): Method['fault'] {
  return (settings, protocol) => {
    const stages = stagesOf?.(settings, protocol) ?? 1;
    if (countAffordedEpisodes(settings, protocol, stages) >= least) {
      return null;
    }
    const [words, reason] =
      least === 1
        ? ['no episode', '']
        : ['fewer than two episodes', ', for there is nothing to compare one episode with'];
    const budget = `evaluator_budget (${settings.evaluator_budget}) pays for ${words} of a problem${stages === 1 ? '' : ` in each of ${stages} stages`}`;
    return `${budget} with the protocol ${protocol.name}, which has ${countMostScores(protocol)} scored messages; raise it${reason}.`;
  };
}

/** Gives every message the credit of its episode; the group is all episodes of the problem. */
export function creditEpisodes(
  { problems, settings }: SampledStep,
  estimator: CreditEstimator,
): ReadonlyMap<TreeMessage, Credit> {
  const credits = new Map<TreeMessage, Credit>();
  for (const episodes of problems) {
    const returns = episodes.map((first) => alternativeReturns(first, settings.credit.return_clip));
    creditIfComparable(returns, estimator).forEach((own, g) => {
      const first = episodes[g];
      if (own !== null && first !== undefined) {
        for (const message of walkEpisode(first)) {
          credits.set(message, own);
        }
      }
    });
  }
  return credits;
}

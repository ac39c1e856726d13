/** What the methods without replay share: as many whole episodes of a problem as the evaluator budget pays for. */
import { comparedCredits } from '../../credit/compared.ts';
import type { CreditEstimator } from '../../credit/estimators.ts';
import { alternativeReturns, type TreeMessage } from '../../replay/tree.ts';
import type { Credit } from '../../shared/credit/credit.ts';
import type { Protocol } from '../../team/protocol.ts';
import { scoredAtMost } from '../../team/rounds.ts';
import { episodeOf, type Method, type MethodSettings, type Rollout, type SampledStep } from './method.ts';

/**
 * Whole episodes that the budget pays for: one evaluator call for each scored message. All stages of a step have as
 * many.
 */
const episodesFor = ({ evaluator_budget: budget }: MethodSettings, protocol: Protocol, stages = 1): number =>
  Math.floor(budget / (stages * Math.max(1, scoredAtMost(protocol))));

/**
 * Whole episodes. They share no random numbers even where `credit.common_random_numbers` is on: the baseline holds
 * replay m of another alternative here, and one that draws the same numbers as the message itself would bias the
 * gradient.
 */
export const wholeEpisodes: Method['plan'] = (settings, protocol) => episodesOfStage(settings, protocol, 1);

/** The same for methods with stages: what each of them samples. */
export const episodesOfStage = (settings: MethodSettings, protocol: Protocol, stages: number): readonly Rollout[] => [
  { fanout: [episodesFor(settings, protocol, stages)], commonRandomNumbers: false },
];

/**
 * Refuses a budget that pays for fewer episodes of a problem than a method needs: two, where they are compared with
 * each other.
 */
export function episodesFault(least: 1 | 2, stagesOf?: Method['stages']): Method['fault'] {
  return (settings, protocol) => {
    const stages = stagesOf?.(settings, protocol) ?? 1;
    if (episodesFor(settings, protocol, stages) >= least) {
      return null;
    }
    const [words, reason] =
      least === 1
        ? ['no episode', '']
        : ['fewer than two episodes', ', for there is nothing to compare one episode with'];
    const budget = `evaluator_budget (${settings.evaluator_budget}) pays for ${words} of a problem${stages === 1 ? '' : ` in each of ${stages} stages`}`;
    return `${budget} with the protocol ${protocol.name}, which has ${scoredAtMost(protocol)} scored messages; raise it${reason}.`;
  };
}

/** Every message gets the credit of its episode; the group is all episodes of the problem. */
export function episodeCredits(
  { problems, settings }: SampledStep,
  estimator: CreditEstimator,
): ReadonlyMap<TreeMessage, Credit> {
  const credits = new Map<TreeMessage, Credit>();
  for (const episodes of problems) {
    const returns = episodes.map((first) => alternativeReturns(first, settings.credit.return_clip));
    comparedCredits(returns, estimator).forEach((own, g) => {
      const first = episodes[g];
      if (own !== null && first !== undefined) {
        for (const message of episodeOf(first)) {
          credits.set(message, own);
        }
      }
    });
  }
  return credits;
}

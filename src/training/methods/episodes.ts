/** What the methods without replay share: as many whole episodes of an instance as the evaluator budget pays for, none sharing random numbers with another. */
import type { Protocol } from '../../team/protocol.ts';
import type { Method, MethodSettings } from './method.ts';

/** Whole episodes that the budget pays for: one evaluator call for each scored message. */
function episodesOf({ evaluator_budget: budget }: MethodSettings, protocol: Protocol): number {
  return Math.floor(budget / Math.max(1, scoredIn(protocol)));
}

const scoredIn = ({ occurrences }: Protocol): number => occurrences.filter(({ scored }) => scored).length;

/**
 * Sampling of whole episodes. They share no random numbers even where `credit.common_random_numbers` is on: replay m of another alternative stands in the
 * baseline here, and one that draws the same numbers as the message itself would bias the gradient.
 */
export const wholeEpisodes: Pick<Method, 'fanout' | 'problem' | 'commonRandomNumbers' | 'compared' | 'judged'> = {
  fanout: (settings, protocol) => protocol.occurrences.map((_, level) => (level === 0 ? episodesOf(settings, protocol) : 1)),
  problem: episodesProblem(2),
  commonRandomNumbers: () => false,
  compared: 'instance',
  judged: () => null,
};

/** Refuses a budget that pays for fewer episodes of an instance than a method needs: two, where they are compared with each other. */
export function episodesProblem(least: 1 | 2): Method['problem'] {
  return (settings, protocol) => {
    if (episodesOf(settings, protocol) >= least) return null;
    const [words, reason] = least === 1 ? ['no episode', ''] : ['fewer than two episodes', ', for there is nothing to compare one episode with'];
    return `evaluator_budget (${String(settings.evaluator_budget)}) pays for ${words} of an instance with the protocol ${protocol.name}, which has ${String(scoredIn(protocol))} scored messages; raise it${reason}.`;
  };
}

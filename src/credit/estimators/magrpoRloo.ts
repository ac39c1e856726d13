/**
 * MAGRPO's credit with leave-one-out (`rloo`): an episode against the mean of all other episodes of the problem
 * (reference section 4.2).
 */

import type { Aggregate, Estimate } from '../aggregate.ts';
import { scaleInterval, countReturns } from '../bounds.ts';
import type { Estimator } from '../estimator.ts';
import { compareWithSiblings } from '../siblings.ts';
import { sumEpisodes } from './magrpo.ts';

/**
 * The credit is the difference between an alternative's episodes and the others times (C - c_j) / (C -
 * 1), and the bounds scale in the same way.
 */
export const magrpoRloo = {
  name: 'magrpo_rloo',
  label: 'magrpo_rloo',
  words: 'The baseline of an episode is the mean over all other episodes of the problem.',
  needs: 'returns',
  configurable: false,
  diagnosed: 'full_mean',
  estimate: (aggregates) => episodeLeaveOneOut(aggregates),
  bounds: (compared) => {
    const { own, others } = compared;
    return scaleInterval(compareWithSiblings(compared), countReturns(others) / (own.length + countReturns(others) - 1));
  },
} as const satisfies Estimator;

/**
 * Leaves one episode out (`rloo`): an episode against the mean of all others, including those of its
 * own alternative. The credit of an alternative is the mean over its episodes.
 *
 * With n episodes it equals n / (n - 1) times group centering. With one return per alternative it
 * equals C3's leave-one-out. With more it does not, because the baseline contains the other replays of
 * the same alternative. A single episode has credit 0.
 * @returns one estimate per alternative, in order; null for one without a return
 */
export function episodeLeaveOneOut(alternatives: readonly Pick<Aggregate, 'mean' | 'count'>[]): (Estimate | null)[] {
  const { total, count } = sumEpisodes(alternatives);
  return alternatives.map(({ mean, count: own }) => {
    if (mean === null || own === 0) {
      return null;
    }
    const baseline = count === 1 ? mean : (total - mean) / (count - 1);
    return { baseline, credit: mean - baseline };
  });
}

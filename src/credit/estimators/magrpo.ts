/**
 * MAGRPO's credit: whole episodes of one problem against the mean of their group, the same for every
 * role (C3 appendix H; reference section 4.2).
 */

import type { Aggregate, Estimate } from '../aggregate.ts';
import { scaleInterval, countReturns } from '../bounds.ts';
import type { Estimator } from '../estimator.ts';
import { compareWithSiblings } from '../siblings.ts';

/**
 * The credit is the difference between an alternative's episodes and the others times (C - c_j) / C,
 * and the bounds scale in the same way.
 */
export const magrpo = {
  name: 'magrpo',
  label: 'magrpo',
  words: 'The baseline is the mean over all episodes of the problem, including its own.',
  needs: 'returns',
  configurable: false,
  diagnosed: 'full_mean',
  estimate: (aggregates) => episodeMean(aggregates),
  bounds: (compared) => {
    const { own, others } = compared;
    return scaleInterval(compareWithSiblings(compared), countReturns(others) / (own.length + countReturns(others)));
  },
} as const satisfies Estimator;

/** The episodes of a group. Every return of every alternative is one episode. */
export interface Episodes {
  readonly total: number;
  readonly count: number;
}

/** Returns the sum and number of all episodes. */
export function sumEpisodes(alternatives: readonly Pick<Aggregate, 'mean' | 'count'>[]): Episodes {
  let [total, count] = [0, 0];
  for (const { mean, count: own } of alternatives) {
    total += own * (mean ?? 0);
    count += own;
  }
  return { total, count };
}

/**
 * Centers the G episodes with returns R_1 ... R_G on their mean (the published default `group_mean`,
 * without its scaling):
 *
 *   b   = 1 / G * sum over g of R_g
 *   A_j = R_j - b
 *
 * Over the alternatives of one context this is the full mean. MAGRPO differs by its group: all
 * episodes of a problem, whatever their contexts, with equal weights.
 * @returns one estimate per alternative, in order; null for one without a return
 */
export function episodeMean(alternatives: readonly Pick<Aggregate, 'mean' | 'count'>[]): (Estimate | null)[] {
  const { total, count } = sumEpisodes(alternatives);
  const baseline = total / count;
  return alternatives.map(({ mean, count: own }) =>
    mean === null || own === 0 ? null : { baseline, credit: mean - baseline },
  );
}

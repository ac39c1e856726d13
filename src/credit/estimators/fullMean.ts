/** The ablation without leave-one-out: an alternative against the mean of all, including itself (eq. 26). */

import type { Aggregate, Estimate } from '../aggregate.ts';
import { scaleInterval, countReturns } from '../bounds.ts';
import type { Estimator } from '../estimator.ts';
import { compareWithSiblings } from '../siblings.ts';

/** The credit is the difference from the others times (C - c_j) / C; the bounds scale alike. */
export const fullMean = {
  name: 'full_mean',
  label: 'replace (full mean)',
  words: 'The baseline is the mean of all alternatives, including its own.',
  needs: 'returns',
  configurable: true,
  diagnosed: 'full_mean',
  estimate: (aggregates) => againstMean(aggregates),
  bounds: (compared) => {
    const { own, others } = compared;
    return scaleInterval(compareWithSiblings(compared), countReturns(others) / (own.length + countReturns(others)));
  },
} as const satisfies Estimator;

/**
 * Uses the mean of all alternatives as the baseline, with c_j returns of alternative j with mean R_j:
 *
 *   b   = sum over j of c_j R_j / C    (26)
 *   A_j = R_j - b
 *
 * C is the sum of the counts. The credit equals the leave-one-out credit times (C - c_j) / C; with n
 * equal counts the factor is (n - 1) / n.
 * @returns one estimate per alternative, in order; null for one without a return
 */
export function againstMean(alternatives: readonly Pick<Aggregate, 'mean' | 'count'>[]): (Estimate | null)[] {
  let weighted = 0;
  let count = 0;
  for (const alternative of alternatives) {
    weighted += alternative.count * (alternative.mean ?? 0);
    count += alternative.count;
  }
  const baseline = weighted / count;
  return alternatives.map(({ mean, count: own }) =>
    mean === null || own === 0 ? null : { baseline, credit: mean - baseline },
  );
}

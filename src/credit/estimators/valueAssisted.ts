/**
 * C3 with a learned value of each alternative in its baseline: the published code's `value_assisted` (reference section
 * 3.3).
 */

import { C3Error } from '../../shared/errors.ts';
import type { Estimate } from '../aggregate.ts';
import { shiftInterval } from '../bounds.ts';
import type { Estimator } from '../estimator.ts';
import { compareWithSiblings } from '../siblings.ts';
import { leaveOneOut } from './loo.ts';
import { estimateFromValues, attachValues, type ValuedAlternative } from './valueOnly.ts';

/**
 * The interval lies between that of leave-one-out and that of the alternative's mean return. It is
 * shifted by the values, which are assumed to be exact.
 */
export const valueAssisted = {
  name: 'value_assisted',
  label: 'value_assisted',
  words: 'Leave-one-out with a baseline that is in part what the value head says of the other alternatives.',
  needs: 'alternative values',
  configurable: true,
  diagnosed: 'loo',
  estimate: (aggregates, group) => estimateWithValues(attachValues(group, aggregates), group.alpha ?? 1),
  bounds: (compared) => shiftInterval(compareWithSiblings(compared, 1 - (compared.group.alpha ?? 1)), compared.credit),
} as const satisfies Estimator;

/**
 * Compares a return with a mixture of two leave-one-out baselines, one of the returns and one of the
 * values:
 *
 *   A_j = R_j - [(1 - alpha) b_-j(R) + alpha b_-j(q)]
 *
 * In b_-j(q) all alternatives have equal weights. The paper's C3 has alpha = 0; the published default
 * is alpha = 1.
 * @param alpha in [0, 1]
 * @returns one estimate per alternative, in order; null for one without a return
 * @throws C3Error('input') for an alpha outside [0, 1] or a value beyond MAX_RETURN
 */
export function estimateWithValues(alternatives: readonly ValuedAlternative[], alpha: number): (Estimate | null)[] {
  if (!(alpha >= 0 && alpha <= 1)) {
    throw new C3Error('input', `alpha is ${alpha}; give a number in [0, 1].`);
  }
  const byReturns = leaveOneOut(alternatives);
  const byValues = estimateFromValues(alternatives);
  return alternatives.map(({ mean }, index) => {
    const [returned, valued] = [byReturns[index], byValues[index]];
    if (mean === null || returned === null || returned === undefined || valued === undefined) {
      return null;
    }
    const baseline = (1 - alpha) * returned.baseline + alpha * valued.baseline;
    return { baseline, credit: mean - baseline };
  });
}

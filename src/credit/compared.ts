/** Credits of groups with members to compare. */

import type { Credit } from '../shared/credit/credit.ts';
import type { CreditGroup } from './estimator.ts';
import { creditGroup, type CreditEstimator } from './estimators.ts';

/**
 * Returns the credits of a group, in order. All are null while fewer than two members have a return,
 * because there is nothing to compare.
 * @throws C3Error('input') as creditGroup
 */
export function creditIfComparable(
  members: CreditGroup['alternatives'],
  estimator: CreditEstimator,
  alpha?: number,
): readonly (Credit | null)[] {
  const measured = members.filter(({ returns }) => returns.some((value) => value !== null)).length;
  return measured < 2 ? members.map(() => null) : creditGroup({ alternatives: members, alpha }, estimator);
}

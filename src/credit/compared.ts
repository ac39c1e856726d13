/** Credits of groups with members to compare. */

import type { Credit } from '../shared/credit/credit.ts';
import type { CreditGroup } from './estimator.ts';
import { creditGroup, type CreditEstimator } from './estimators.ts';

/**
 * Returns the credits of a group, in order. All are null if there is nothing to compare: fewer than
 * two members have a return, and none has a mean outside.
 * @throws C3Error('input') as creditGroup
 */
export function creditIfComparable(
  members: CreditGroup['alternatives'],
  estimator: CreditEstimator,
  alpha?: number,
): readonly (Credit | null)[] {
  const measured = members.filter(({ returns }) => returns.some((value) => value !== null)).length;
  const comparable = measured >= 2 || members.some(({ outside }) => outside !== undefined);
  return comparable ? creditGroup({ alternatives: members, alpha }, estimator) : members.map(() => null);
}

/** Credits where there is something to compare with. */
import type { Credit } from '../shared/credit/credit.ts';
import type { CreditGroup } from './estimator.ts';
import { creditGroup, type CreditEstimator } from './estimators.ts';

/**
 * The credits of a group, in order; all are null while fewer than two members have a return, for there is nothing to
 * compare with.
 * @throws C3Error('input') as creditGroup
 */
export function comparedCredits(
  members: CreditGroup['alternatives'],
  estimator: CreditEstimator,
  alpha?: number,
): readonly (Credit | null)[] {
  const measured = members.filter(({ returns }) => returns.some((value) => value !== null)).length;
  return measured < 2 ? members.map(() => null) : creditGroup({ alternatives: members, alpha }, estimator);
}

/** Credit as runs and replays record it: what cannot be compared is not measured. */
import { creditBucket, type EstimatorName } from '../credit/creditBucket.ts';
import type { CreditRule } from '../replay/record.ts';

/** The rule of an estimator; all credits are null while fewer than two alternatives have a return, for there is nothing to compare with. */
export function creditRule(estimator: EstimatorName): CreditRule {
  return (alternatives) => {
    const measured = alternatives.filter(({ returns }) => returns.some((value) => value !== null)).length;
    return measured < 2 ? alternatives.map(() => null) : creditBucket(alternatives, estimator);
  };
}

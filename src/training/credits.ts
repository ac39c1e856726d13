/** Credit as replays record it: what cannot be compared is not measured. */
import type { CreditEstimator } from '../credit/estimators.ts';
import type { CreditRule } from '../replay/record.ts';
import { comparedCredits } from './methods/method.ts';

/** The rule of an estimator; all credits are null while fewer than two alternatives have a return, for there is nothing to compare with. */
export const creditRule = (estimator: CreditEstimator): CreditRule => (alternatives) => comparedCredits(alternatives, estimator);

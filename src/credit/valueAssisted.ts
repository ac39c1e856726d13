/** C3 with a learned value of each alternative in its baseline: the published code's `value_assisted` and `value_only` (reference section 3.3). */
import { C3Error } from '../shared/errors.ts';
import { isReturn, RETURN_WORDS } from '../shared/returns.ts';
import type { Aggregate, Estimate } from './aggregate.ts';
import { leaveOneOut } from './loo.ts';

/** An alternative with what a learned critic says of it. */
export interface ValuedAlternative extends Pick<Aggregate, 'mean' | 'count'> {
  /** q(h, a_j). */
  readonly value: number;
}

/**
 * A_j = R_j - [(1 - alpha) b_-j(R) + alpha b_-j(q)], both baselines leave-one-out, that of q with equal weights. alpha = 0 is C3 as the
 * paper has it, alpha = 1 the published default.
 * @param alpha in [0, 1]
 * @returns one estimate per alternative, in order; null for one without a return
 * @throws C3Error('input') for an alpha outside [0, 1] or a value beyond MAX_RETURN
 */
export function valueAssisted(alternatives: readonly ValuedAlternative[], alpha: number): (Estimate | null)[] {
  if (!(alpha >= 0 && alpha <= 1)) throw new C3Error('input', `alpha is ${alpha}; give a number in [0, 1].`);
  const byReturns = leaveOneOut(alternatives);
  const byValues = valueOnly(alternatives);
  return alternatives.map(({ mean }, index) => {
    const [returned, valued] = [byReturns[index], byValues[index]];
    if (mean === null || returned === null || returned === undefined || valued === undefined) return null;
    const baseline = (1 - alpha) * returned.baseline + alpha * valued.baseline;
    return { baseline, credit: mean - baseline };
  });
}

/**
 * A_j = q_j - b_-j(q): the critic alone, no return enters.
 * @throws C3Error('input') for a value beyond MAX_RETURN
 */
export function valueOnly(alternatives: readonly Pick<ValuedAlternative, 'value'>[]): Estimate[] {
  const values = alternatives.map(({ value }) => {
    if (!isReturn(value)) throw new C3Error('input', `The value of an alternative is ${value}; give ${RETURN_WORDS}.`);
    return { mean: value, count: 1 };
  });
  return leaveOneOut(values).map((found, index) => found ?? { baseline: values[index]?.mean ?? 0, credit: 0 });
}

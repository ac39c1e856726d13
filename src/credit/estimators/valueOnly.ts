/**
 * C3 with a learned value of each alternative and no return: `value_only` of the published code
 * (reference section 3.3).
 */

import { isReturn, RETURN_WORDS } from '../../shared/credit/returns.ts';
import { C3Error } from '../../shared/errors.ts';
import type { Aggregate, Estimate } from '../aggregate.ts';
import { NO_BOUNDS } from '../bounds.ts';
import type { CreditGroup, Estimator } from '../estimator.ts';
import { leaveOneOut } from './loo.ts';

/** Uses no return, so its interval cannot be estimated. */
export const valueOnly = {
  name: 'value_only',
  label: 'value_only',
  words: 'What the value head says of an alternative, against what it says of the others; returns are not used.',
  needs: 'alternative values',
  configurable: false,
  diagnosed: 'stored',
  estimate: (aggregates, group) =>
    estimateFromValues(attachValues(group, aggregates)).map((found, index) =>
      (aggregates[index]?.count ?? 0) === 0 ? null : found,
    ),
  bounds: () => NO_BOUNDS,
} as const satisfies Estimator;

/** An alternative with the value that a learned critic gives it. */
export interface ValuedAlternative extends Pick<Aggregate, 'mean' | 'count'> {
  /** q(h, a_j). */
  readonly value: number;
}

/** Returns the alternatives with their values. @throws C3Error('input') if one is missing */
export function attachValues({ alternatives }: CreditGroup, aggregates: readonly Aggregate[]): ValuedAlternative[] {
  return alternatives.map(({ value }, index) => {
    if (value === undefined) {
      throw new C3Error(
        'input',
        `Alternative ${index} has no value, which value_assisted and value_only need; give "value" beside its "returns".`,
      );
    }
    const { mean, count } = aggregates[index] ?? { mean: null, count: 0 };
    return { mean, count, value };
  });
}

/**
 * Uses the critic alone, without returns:
 *
 *   A_j = q_j - b_-j(q)
 *
 * @throws C3Error('input') for a value beyond MAX_RETURN
 */
export function estimateFromValues(alternatives: readonly Pick<ValuedAlternative, 'value'>[]): Estimate[] {
  const values = alternatives.map(({ value }) => {
    if (!isReturn(value)) {
      throw new C3Error('input', `The value of an alternative is ${value}; give ${RETURN_WORDS}.`);
    }
    return { mean: value, count: 1 };
  });
  return leaveOneOut(values).map((found, index) => found ?? { baseline: values[index]?.mean ?? 0, credit: 0 });
}

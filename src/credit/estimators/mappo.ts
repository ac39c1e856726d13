/** MAPPO's credit: a return against a learned value (C3 appendix H; reference section 4.1). */

import { isReturn, RETURN_WORDS } from '../../shared/credit/returns.ts';
import { C3Error } from '../../shared/errors.ts';
import type { Aggregate, Estimate } from '../aggregate.ts';
import { shiftInterval } from '../bounds.ts';
import type { CreditGroup, Estimator } from '../estimator.ts';
import { meanInterval } from '../interval.ts';

/** The interval of the alternative's mean return, shifted by the value, which counts as exact. */
export const mappo = {
  name: 'mappo',
  label: 'mappo',
  words: 'The baseline is what the value head says of the context.',
  needs: 'context value',
  configurable: false,
  diagnosed: 'stored',
  estimate: (aggregates, group) => againstValue(aggregates, contextValue(group)),
  bounds: ({ own, credit }) => shiftInterval(meanInterval(own), credit),
} as const satisfies Estimator;

function contextValue({ value }: CreditGroup): number {
  if (value === undefined) {
    throw new C3Error('input', 'mappo needs the value of the context: give "value" beside "alternatives".');
  }
  return value;
}

/**
 * Compares an alternative with the value of its context (C3 appendix I):
 *
 *   b   = V(h)
 *   A_j = R_j - V(h)
 *
 * @param value the value head's estimate for the context
 * @returns one estimate per alternative, in order; null for one without a return
 * @throws C3Error('input') for a value beyond MAX_RETURN
 */
export function againstValue(
  alternatives: readonly Pick<Aggregate, 'mean' | 'count'>[],
  value: number,
): (Estimate | null)[] {
  if (!isReturn(value)) {
    throw new C3Error('input', `The value of the context is ${value}; give ${RETURN_WORDS}.`);
  }
  return alternatives.map(({ mean, count }) =>
    mean === null || count === 0 ? null : { baseline: value, credit: mean - value },
  );
}

/**
 * The counterfactual credit of CCPO (reference section 1): the team's return with a role's
 * contribution minus its return without it.
 */

import { isReturn, RETURN_WORDS } from '../../shared/credit/returns.ts';
import { C3Error } from '../../shared/errors.ts';
import type { Estimate } from '../aggregate.ts';
import { shiftInterval } from '../bounds.ts';
import type { Estimator } from '../estimator.ts';
import { meanInterval } from '../interval.ts';

/**
 *   b_j = R_without_j
 *   A_j = R_j - R_without_j
 *
 * The value of an alternative is its return without the role, assumed to be exact. A run of the method
 * stores this difference after shaping (training/methods/ccpoShaping.ts).
 */
export const ccpo = {
  name: 'ccpo',
  label: 'ccpo',
  words: 'The baseline is the return of the same team without what the role said.',
  needs: 'alternative values',
  configurable: false,
  diagnosed: 'stored',
  estimate: (aggregates, { alternatives }) =>
    aggregates.map(({ mean, count }, index): Estimate | null => {
      const without = alternatives[index]?.value;
      if (mean === null || count === 0) {
        return null;
      }
      if (without === undefined || !isReturn(without)) {
        throw new C3Error(
          'input',
          `ccpo needs the return of each alternative without the role: give "value", ${RETURN_WORDS}, ` +
            'beside its returns.',
        );
      }
      return { baseline: without, credit: mean - without };
    }),
  bounds: ({ own, credit }) => shiftInterval(meanInterval(own), credit),
} as const satisfies Estimator;

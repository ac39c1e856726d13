/** The return of an alternative: the mean over its replays (C3 eq. 11). */

import { isReturn, RETURN_WORDS } from '../shared/credit/returns.ts';
import { C3Error } from '../shared/errors.ts';
import { mean } from './describe.ts';

export interface Aggregate {
  /** Mean return, or null if no replay has one. */
  readonly mean: number | null;
  /** Returns behind the mean (c in eq. 11). */
  readonly count: number;
  /** Returns left out because the evaluator failed. */
  readonly masked: number;
}

/** An estimator's result for one alternative: credit = mean return - baseline. */
export interface Estimate {
  readonly baseline: number;
  readonly credit: number;
}

/**
 * Returns the returns that are not masked, in order. A failed evaluation is null, which is not a
 * return of 0.
 * @throws C3Error('input') for a return beyond MAX_RETURN
 */
export function unmasked(returns: readonly (number | null)[]): number[] {
  const kept = returns.filter((value) => value !== null);
  const wrong = kept.find((value) => !isReturn(value));
  if (wrong !== undefined) {
    throw new C3Error('input', `A return is ${wrong}; give ${RETURN_WORDS}, or null where the evaluator failed.`);
  }
  return kept;
}

/**
 * Returns the mean return of one alternative without masked returns.
 * @throws C3Error('input') for a return beyond MAX_RETURN
 */
export function aggregate(returns: readonly (number | null)[]): Aggregate {
  const kept = unmasked(returns);
  return { mean: kept.length === 0 ? null : mean(kept), count: kept.length, masked: returns.length - kept.length };
}

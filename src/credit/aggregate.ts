/** The return of an alternative: the mean over its replays (C3 eq. 11). */
import { isReturn, RETURN_WORDS } from '../shared/credit/returns.ts';
import { C3Error } from '../shared/errors.ts';
import { mean } from './describe.ts';

export interface Aggregate {
  /** Mean return; null where no replay has one. */
  readonly mean: number | null;
  /** Returns behind the mean (c in eq. 11). */
  readonly count: number;
  /** Returns left out because the evaluator failed. */
  readonly masked: number;
}

/** What an estimator says about one alternative: credit = mean return - baseline. */
export interface Estimate {
  readonly baseline: number;
  readonly credit: number;
}

/**
 * The returns that exist, in order; null represents a failed evaluation, which is no return of 0.
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
 * Mean return of one alternative, masked returns left out.
 * @throws C3Error('input') for a return beyond MAX_RETURN
 */
export function aggregate(returns: readonly (number | null)[]): Aggregate {
  const kept = unmasked(returns);
  return { mean: kept.length === 0 ? null : mean(kept), count: kept.length, masked: returns.length - kept.length };
}

/** The interface of an estimator: one file in src/credit/estimators and one row in estimators.ts. */

import type { Aggregate, Estimate } from './aggregate.ts';
import type { DifferenceInterval } from './interval.ts';
import type { Sides } from './siblings.ts';

/** One alternative: returns of its replays, null if the evaluator failed, and calls that they cost. */
export interface CreditInput {
  readonly returns: readonly (number | null)[];
  readonly evaluatorCalls: number;
}

/** The mean return of episodes in other contexts, in loo_two_level. */
export interface OutsideMean {
  readonly mean: number;
  /** Its weight in the baseline, from 0 to 1; the siblings have the rest. */
  readonly weight: number;
}

/** What an estimator may need of an alternative beside its returns. */
export interface AlternativeInput extends CreditInput {
  /** q(h, a_j), for estimators that need the values of the alternatives. */
  readonly value?: number | undefined;
  /** For loo_two_level; without it the siblings alone are the baseline. */
  readonly outside?: OutsideMean | undefined;
}

/** Alternatives of one context, or episodes of one problem, with learned values if needed. */
export interface CreditGroup {
  readonly alternatives: readonly AlternativeInput[];
  /** V(h), for estimators that need the value of the context. */
  readonly value?: number | undefined;
  /** The weight of the values in value_assisted; the default is 1, as published. */
  readonly alpha?: number | undefined;
}

/**
 * The source of the credit in diagnostics of single contexts (fidelity, variance): leave-one-out or
 * the full mean of the returns, or the stored credit if its baseline is a learned value that the
 * returns do not contain.
 */
export type DiagnosticFamily = 'loo' | 'full_mean' | 'stored';

/** The bounds of a credit and their method; `none` if both are null. */
export type Bounds = Pick<DifferenceInterval, 'low' | 'high' | 'method'>;

/** One alternative and the others, for the bounds of its credit. */
export interface Compared extends Sides {
  readonly credit: number;
  readonly own: readonly number[];
  readonly group: CreditGroup;
}

export interface Estimator {
  /** The name in stores, in configurations and in `c3 credit --estimator`. */
  readonly name: string;
  /** The name in tables for readers. */
  readonly label: string;
  /** Describes its baseline in one sentence. */
  readonly words: string;
  /**
   * Its inputs besides the returns: none, the value of the context, a value of each alternative, or a
   * mean of returns outside the context.
   */
  readonly needs: 'returns' | 'context value' | 'alternative values' | 'outside returns';
  /** True if `credit.estimator` may name it, because it compares messages of one context. */
  readonly configurable: boolean;
  readonly diagnosed: DiagnosticFamily;
  /**
   * Returns the baseline and credit of each alternative, in order; null for an alternative without a
   * return.
   * @throws C3Error('input') for a value that it needs and that is missing or not finite
   */
  readonly estimate: (aggregates: readonly Aggregate[], group: CreditGroup) => (Estimate | null)[];
  /** Returns the interval of a credit for its kind of baseline. */
  readonly bounds: (compared: Compared) => Bounds;
}

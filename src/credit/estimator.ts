/** The interface of an estimator: one file in src/credit/estimators and one row in estimators.ts. */

import type { Aggregate, Estimate } from './aggregate.ts';
import type { DifferenceInterval } from './interval.ts';
import type { Sides } from './siblings.ts';

/** One alternative: returns of its replays, null if the evaluator failed, and calls that they cost. */
export interface CreditInput {
  readonly returns: readonly (number | null)[];
  readonly evaluatorCalls: number;
}

/** Alternatives of one context, or episodes of one problem, with learned values if needed. */
export interface CreditGroup {
  readonly alternatives: readonly (CreditInput & {
    /** q(h, a_j), for estimators that need the values of the alternatives. */
    readonly value?: number | undefined;
  })[];
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
  /** Its inputs besides the returns: none, the value of the context, or a value of each alternative. */
  readonly needs: 'returns' | 'context value' | 'alternative values';
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

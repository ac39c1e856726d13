/**
 * What describes an estimator of credit: one file of src/credit/estimators and one row of the table in estimators.ts
 * add one.
 */
import type { Aggregate, Estimate } from './aggregate.ts';
import type { DifferenceInterval } from './interval.ts';
import type { Sides } from './siblings.ts';

/** One alternative: the return of each replay, null where the evaluator failed, and the calls that they cost. */
export interface CreditInput {
  readonly returns: readonly (number | null)[];
  readonly evaluatorCalls: number;
}

/** Alternatives of one context, or episodes of one problem, with what learned values some estimators take. */
export interface CreditGroup {
  readonly alternatives: readonly (CreditInput & {
    /** q(h, a_j), for estimators that need the values of the alternatives. */
    readonly value?: number | undefined;
  })[];
  /** V(h), for estimators that need the value of the context. */
  readonly value?: number | undefined;
  /** The weight of the values in value_assisted; 1, the published default, unless given. */
  readonly alpha?: number | undefined;
}

/**
 * How diagnostics of single contexts (fidelity, variance) have the credit: computed from the returns by leave-one-out
 * or by the full mean, or as it was stored, because a learned value that is in no return is its baseline.
 */
export type DiagnosticFamily = 'loo' | 'full_mean' | 'stored';

/** The bounds of a credit and how they were found; none where both are null. */
export type Bounds = Pick<DifferenceInterval, 'low' | 'high' | 'method'>;

/** One alternative beside the others, for the bounds of its credit. */
export interface Compared extends Sides {
  readonly credit: number;
  readonly own: readonly number[];
  readonly group: CreditGroup;
}

export interface Estimator {
  /** The name under which credits are stored, and that configurations and `c3 credit --estimator` give it. */
  readonly name: string;
  /** Its name in tables that people read. */
  readonly label: string;
  /** What its baseline is, in one sentence. */
  readonly words: string;
  /** What it takes beside the returns: nothing, the value of the context, or a value of each alternative. */
  readonly needs: 'returns' | 'context value' | 'alternative values';
  /** Whether `credit.estimator` of a configuration may name it: it compares messages of one context. */
  readonly configurable: boolean;
  readonly diagnosed: DiagnosticFamily;
  /**
   * Baseline and credit of each alternative, in order; null for one without a return.
   * @throws C3Error('input') for a value that it needs and does not find, or that is not finite
   */
  readonly estimate: (aggregates: readonly Aggregate[], group: CreditGroup) => (Estimate | null)[];
  /** The interval of a credit, as its baseline allows. */
  readonly bounds: (compared: Compared) => Bounds;
}

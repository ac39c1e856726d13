/**
 * The forms that an answer can have: a number with its unit, a tuple, an interval, a set, a relation, a matrix or
 * text.
 */
import type { Quotient } from './exact/polynomial.ts';

/** How a number was written; the published grader rounds by it. */
export type Written = 'whole' | 'decimal' | 'fraction' | 'other';
export type Operator = '=' | '!=' | '<' | '<=';

export interface Quantity {
  readonly kind: 'quantity';
  readonly value: Quotient;
  readonly unit: string | null;
  readonly percent: boolean;
  readonly written: Written;
  /** What is before a percent sign: 50 of 50%. Absent where there is none, or where it closes one term of a sum. */
  readonly unsigned?: Quotient;
  /** True for a letter from A to J alone in brackets or in \text, as a choice is written. */
  readonly choice?: boolean;
}

export interface Relation {
  readonly operator: Operator;
  /** Left side less right side. */
  readonly difference: Quotient;
}

export type Value =
  | Quantity
  /** Tuples, intervals, coordinates, ratios: the order and the brackets count. */
  | { readonly kind: 'sequence'; readonly open: string; readonly close: string; readonly items: readonly Value[] }
  /** `set`: {1, 2}; `list`: bare 1, 2 or "1 or 2", all solutions in any order; `union`: of intervals and sets. */
  | { readonly kind: 'set' | 'list' | 'union'; readonly items: readonly Value[] }
  | { readonly kind: 'matrix'; readonly rows: readonly (readonly Value[])[] }
  /**
   * `x = 5`, `x \in [1, 2)`, `f(x) = 2x`: the label says what has the value; the relation is kept where both sides are
   * expressions.
   */
  | { readonly kind: 'labelled'; readonly label: string; readonly value: Value; readonly relation: Relation | null }
  | { readonly kind: 'relation'; readonly relation: Relation }
  /** `(B) 12`: a choice with what it says. */
  | { readonly kind: 'choice'; readonly letter: Quotient; readonly value: Value }
  /** `\sqrt{2} \approx 1.414`: a value and what it rounds to. */
  | { readonly kind: 'rounded'; readonly exact: Value; readonly rounded: Value }
  | { readonly kind: 'text'; readonly text: string };

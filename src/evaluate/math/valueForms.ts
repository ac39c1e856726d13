/** The forms of an answer: number with unit, tuple, interval, set, relation, matrix or text. */

import type { Quotient } from './exact/polynomial.ts';

/** The written form of a number, by which the published grader rounds. */
export type Written = 'whole' | 'decimal' | 'fraction' | 'other';
export type Operator = '=' | '!=' | '<' | '<=';

export interface Quantity {
  readonly kind: 'quantity';
  readonly value: Quotient;
  readonly unit: string | null;
  readonly percent: boolean;
  readonly written: Written;
  /** The value before a percent sign: 50 of 50%. Absent if the sign belongs to one term of a sum. */
  readonly unsigned?: Quotient;
  /** True for a single letter from A to J in brackets or in \text, which is the form of a choice. */
  readonly choice?: boolean;
}

export interface Relation {
  readonly operator: Operator;
  /** Left side minus right side. */
  readonly difference: Quotient;
}

export type Value =
  | Quantity
  /** Tuples, intervals, coordinates, ratios: the order and the brackets count. */
  | { readonly kind: 'sequence'; readonly open: string; readonly close: string; readonly items: readonly Value[] }
  /** `set`: {1, 2}; `list`: 1, 2 or "1 or 2", in any order; `union`: of intervals and sets. */
  | { readonly kind: 'set' | 'list' | 'union'; readonly items: readonly Value[] }
  | { readonly kind: 'matrix'; readonly rows: readonly (readonly Value[])[] }
  /**
   * `x = 5`, `x \in [1, 2)`, `f(x) = 2x`: the label names the value; the relation is kept if both sides
   * are expressions.
   */
  | { readonly kind: 'labelled'; readonly label: string; readonly value: Value; readonly relation: Relation | null }
  | { readonly kind: 'relation'; readonly relation: Relation }
  /** `(B) 12`: a choice and its value. */
  | { readonly kind: 'choice'; readonly letter: Quotient; readonly value: Value }
  /** `\sqrt{2} \approx 1.414`: a value and its rounded form. */
  | { readonly kind: 'rounded'; readonly exact: Value; readonly rounded: Value }
  | { readonly kind: 'text'; readonly text: string };

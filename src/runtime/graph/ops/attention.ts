/** Attention whose result does not depend on the position of a visible slot among hidden ones. */

import type { Graph, Value } from '../graph.ts';
import { sum } from './broadcast.ts';
import { add, clip, div, exp, mul, sub } from './elementwise.ts';
import { matmul, swapLast } from './linear.ts';
import { slice } from './shape.ts';

export interface AttentionInputs {
  /** [rows, heads, queries, width]. */
  readonly queries: Value;
  /** [rows, heads, slots, width]. */
  readonly keys: Value;
  readonly values: Value;
  readonly mask: AttentionMask;
  /** Ones, [slots, 2]. */
  readonly ones: Value;
}

/** The slots that a query sees. Both values broadcast to [rows, heads, queries, slots]. */
export interface AttentionMask {
  /** Added to the scores: 0 if a slot is visible, HIDDEN if not. */
  readonly bias: Value;
  /** 1 if a slot is visible, 0 if not. */
  readonly visible: Value;
}

/** Far below any score, so that a hidden slot is never a row's maximum. */
export const HIDDEN = -1e9;
/** exp of a lower number is subnormal, and processors are slow with subnormal numbers. */
const LOWEST_EXPONENT = -87;

/**
 * softmax(Q K^T / sqrt(width)) V over the visible slots, [rows, heads, queries, width].
 *
 * Numerator E V and denominator E 1 (E = exp(score - row maximum), 0 if hidden) are both matrix
 * products, which add the slots one after the other, and a hidden slot adds an exact zero. A softmax operator
 * would add in vector lanes, so a sum would depend on the lane of a slot. Backward, with denominator Z and result O:
 *
 *   dN = dO / Z
 *   dV = E^T dN
 *   dS = E (dN V^T - sum(dN O))
 *   dQ = dS K / sqrt(width)
 *   dK = dS^T Q / sqrt(width)
 */
export function attention(g: Graph, { queries, keys, values, mask, ones }: AttentionInputs): Value {
  const scale = g.scalar(1 / Math.sqrt(Number(queries.shape[3])));
  let exponentials: Value = queries;
  let total: Value = queries;
  let output: Value = queries;
  return g.compositeOf(
    [queries, keys, values],
    () => {
      const scores = add(g, mul(g, matmul(g, queries, swapLast(g, keys)), scale), mask.bias);
      exponentials = mul(g, exp(g, clip(g, sub(g, scores, rowMaximum(g, scores)), LOWEST_EXPONENT, 0)), mask.visible);
      total = slice(g, matmul(g, exponentials, ones), 3, 0, 1);
      output = div(g, matmul(g, exponentials, values), total);
      return output;
    },
    (dy) => {
      const dn = div(g, dy, total);
      const de = sub(g, matmul(g, dn, swapLast(g, values)), sum(g, mul(g, dn, output), [3], true));
      const ds = mul(g, exponentials, de);
      return [
        mul(g, matmul(g, ds, keys), scale),
        mul(g, matmul(g, swapLast(g, ds), queries), scale),
        matmul(g, swapLast(g, exponentials), dn),
      ];
    },
  );
}

/** Returns the largest element of each row and keeps the last axis with length 1. */
export function rowMaximum(g: Graph, x: Value): Value {
  const last = x.shape.length - 1;
  return g.apply({
    op: 'ReduceMax',
    inputs: [x, g.ints([last])],
    attributes: { keepdims: 1 },
    dtype: x.dtype,
    shape: [...x.shape.slice(0, last), 1],
  });
}

/** Reductions to one number or along one axis. */

import type { Graph, Value } from '../graph.ts';
import { sum } from './broadcast.ts';
import { div } from './elementwise.ts';

/** Returns the sum of all elements, a scalar. */
export const sumAll = (g: Graph, x: Value): Value =>
  sum(
    g,
    x,
    x.shape.map((_, axis) => axis),
  );

/** Returns the largest element, a scalar; not differentiable. */
export const maxAll = (g: Graph, x: Value): Value =>
  g.apply({ op: 'ReduceMax', inputs: [x], attributes: { keepdims: 0 }, dtype: x.dtype, shape: [] });

export function mean(g: Graph, x: Value, axis: number, keepDims = false): Value {
  const length = x.shape.at(axis);
  if (typeof length !== 'number') {
    throw new Error('mean needs an axis of known length.');
  }
  return div(g, sum(g, x, [axis], keepDims), g.scalar(length));
}

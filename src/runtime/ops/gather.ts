/** Table look-ups and their scattered gradients. Indices are int64 and must be in range. */
import type { Graph, Value } from '../graph.ts';
import { shapeOf } from './broadcast.ts';
import { reshape, unsqueeze } from './shape.ts';

/** Rows of a table: table [rows, width], indices of any shape; result [...indices, width]. The vjp adds the rows back. */
export function gatherRows(g: Graph, table: Value, indices: Value): Value {
  const width = table.shape[1] ?? 1;
  return g.apply({
    op: 'Gather',
    inputs: [table, indices],
    attributes: { axis: 0 },
    dtype: table.dtype,
    shape: [...indices.shape, width],
    vjp: ([dy]) => {
      if (dy === undefined) return [undefined, undefined];
      const flat = reshape(g, unsqueeze(g, indices, [indices.shape.length]), ['gathered', 1]);
      return [scatterAdd(g, zerosLike(g, table), flat, reshape(g, dy, ['gathered', width])), undefined];
    },
  });
}

/** One element of each row: x [rows, width], indices [rows, 1] along the last axis; result [rows, 1]. */
export function gatherElements(g: Graph, x: Value, indices: Value): Value {
  return g.apply({
    op: 'GatherElements',
    inputs: [x, indices],
    attributes: { axis: -1 },
    dtype: x.dtype,
    shape: indices.shape,
    vjp: ([dy]) => [
      dy && g.apply({ op: 'ScatterElements', inputs: [zerosLike(g, x), indices, dy], attributes: { axis: -1 }, dtype: x.dtype, shape: x.shape }),
      undefined,
    ],
  });
}

/**
 * data [rows, width] with updates [n, width] added at the rows that indices [n, 1] name; repeated rows add up, in order.
 * ScatterElements does so in one thread. ScatterND would share the work among threads, and rows that repeat then add up in any order.
 */
function scatterAdd(g: Graph, data: Value, indices: Value, updates: Value): Value {
  const everyColumn = g.apply({ op: 'Expand', inputs: [indices, shapeOf(g, updates)], dtype: 'int64', shape: updates.shape });
  return g.apply({ op: 'ScatterElements', inputs: [data, everyColumn, updates], attributes: { axis: 0, reduction: 'add' }, dtype: data.dtype, shape: data.shape });
}

/** Zeros of the run-time shape of another value. */
export function zerosLike(g: Graph, like: Value): Value {
  return g.apply({ op: 'Expand', inputs: [g.floats([0], [1]), shapeOf(g, like)], dtype: like.dtype, shape: like.shape });
}

/** Table look-ups and their gradients. Indices are int32 or int64 and must be in range. */

import type { Graph, Value } from '../graph.ts';
import { runtimeShape } from './broadcast.ts';
import { cast, equal } from './elementwise.ts';
import { matmul, swapLast } from './linear.ts';
import { reshape, unsqueeze } from './shape.ts';

/** The gradient of a table of at most this many rows is a matrix product. */
const PRODUCT_ROWS = 1024;

/**
 * Looks up rows of a table: table [rows, width], indices of any shape; result [...indices, width]. The
 * vjp adds the rows back, always in the same order: for a small table as the product of the one-hot
 * indices with dy, for a large one by a scatter.
 */
export function gatherRows(g: Graph, table: Value, indices: Value): Value {
  const width = table.shape[1] ?? 1;
  return g.apply({
    op: 'Gather',
    inputs: [table, indices],
    attributes: { axis: 0 },
    dtype: table.dtype,
    shape: [...indices.shape, width],
    vjp: ([dy]) => {
      if (dy === undefined) {
        return [undefined, undefined];
      }
      const flat = reshape(g, unsqueeze(g, indices, [indices.shape.length]), ['gathered', 1]);
      const updates = reshape(g, dy, ['gathered', width]);
      const rows = table.shape[0];
      if (typeof rows !== 'number' || rows > PRODUCT_ROWS || flat.dtype !== 'int32') {
        return [scatterAdd(g, zerosLike(g, table), flat, updates), undefined];
      }
      const oneHot = cast(
        g,
        equal(
          g,
          flat,
          g.int32s(
            Array.from({ length: rows }, (_, row) => row),
            [1, rows],
          ),
        ),
        table.dtype,
      );
      return [matmul(g, swapLast(g, oneHot), updates), undefined];
    },
  });
}

/**
 * Looks up rows of x [rows, width] by distinct indices [n]; result [n, width].
 * @param inverse int [rows]: for each row of x its position in `indices`, or n if it has none; it
 *   makes the vjp a look-up too
 */
export function gatherDistinctRows(g: Graph, x: Value, indices: Value, inverse: Value): Value {
  const width = x.shape[1] ?? 1;
  return g.apply({
    op: 'Gather',
    inputs: [x, indices],
    attributes: { axis: 0 },
    dtype: x.dtype,
    shape: [...indices.shape, width],
    vjp: ([dy]) => {
      if (dy === undefined) {
        return [undefined, undefined];
      }
      const zeros = g.floats(
        Array.from({ length: Number(width) }, () => 0),
        [1, Number(width)],
      );
      const extended = g.apply({
        op: 'Concat',
        inputs: [dy, zeros],
        attributes: { axis: 0 },
        dtype: x.dtype,
        shape: ['extended', width],
      });
      return [
        g.apply({ op: 'Gather', inputs: [extended, inverse], attributes: { axis: 0 }, dtype: x.dtype, shape: x.shape }),
        undefined,
      ];
    },
  });
}

/** Looks up one element in each row of x [rows, width]: indices [rows, 1], result [rows, 1]. */
export function gatherElements(g: Graph, x: Value, indices: Value): Value {
  return g.apply({
    op: 'GatherElements',
    inputs: [x, indices],
    attributes: { axis: -1 },
    dtype: x.dtype,
    shape: indices.shape,
    vjp: ([dy]) => [dy && addAt(g, zerosLike(g, x), indices, dy), undefined],
  });
}

/** Adds updates [rows, 1] to x [rows, width] at indices [rows, 1]; not differentiable. */
export function addAt(g: Graph, x: Value, indices: Value, updates: Value): Value {
  return g.apply({
    op: 'ScatterElements',
    inputs: [x, indices, updates],
    attributes: { axis: -1, reduction: 'add' },
    dtype: x.dtype,
    shape: x.shape,
  });
}

/**
 * Adds updates [n, width] to the rows of data [rows, width] that indices [n, 1] name. Repeated rows
 * add up in order, because ScatterElements runs in one thread. ScatterND would share the work among
 * threads and add repeated rows in any order.
 */
function scatterAdd(g: Graph, data: Value, indices: Value, updates: Value): Value {
  const everyColumn = g.apply({
    op: 'Expand',
    inputs: [indices, runtimeShape(g, updates)],
    dtype: indices.dtype,
    shape: updates.shape,
  });
  return g.apply({
    op: 'ScatterElements',
    inputs: [data, everyColumn, updates],
    attributes: { axis: 0, reduction: 'add' },
    dtype: data.dtype,
    shape: data.shape,
  });
}

/** Returns zeros of the run-time shape of another value. */
export function zerosLike(g: Graph, like: Value): Value {
  return g.apply({
    op: 'Expand',
    inputs: [g.floats([0], [1]), runtimeShape(g, like)],
    dtype: like.dtype,
    shape: like.shape,
  });
}

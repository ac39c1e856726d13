/** Matrix products. */

import type { Graph, Value } from '../graph.ts';
import { sumToShape } from './broadcast.ts';
import { broadcastShape, cast } from './elementwise.ts';
import { reshape, transpose } from './shape.ts';

/**
 * Y = A B over the last two axes, leading axes broadcast:
 *
 *   dA = dY B^T
 *   dB = A^T dY    for a 2-D weight b, the leading axes of a are flattened: one product, not a batch
 */
export function matmul(g: Graph, a: Value, b: Value): Value {
  const inner = a.shape.at(-1);
  if (inner !== b.shape.at(-2)) {
    throw new Error(`matmul of [${a.shape.join(', ')}] and [${b.shape.join(', ')}].`);
  }
  const lead = b.shape.length === 2 ? a.shape.slice(0, -2) : broadcastShape(a.shape.slice(0, -2), b.shape.slice(0, -2));
  return g.apply({
    op: 'MatMul',
    inputs: [a, b],
    dtype: a.dtype,
    shape: [...lead, a.shape.at(-2) ?? 1, b.shape.at(-1) ?? 1],
    vjp: ([dy]) => {
      if (dy === undefined) {
        return [undefined, undefined];
      }
      const da = sumToShape(g, matmul(g, dy, swapLast(g, b)), a);
      if (b.shape.length > 2) {
        return [da, sumToShape(g, matmul(g, swapLast(g, a), dy), b)];
      }
      const rows = reshape(g, a, ['flattened', inner ?? 1]);
      const dyRows = reshape(g, dy, ['flattened', b.shape.at(-1) ?? 1]);
      return [da, matmul(g, swapLast(g, rows), dyRows)];
    },
  });
}

/**
 * x W^T for x [..., in] and a weight [out, in], as checkpoints store it. dx = dy W, dW = dy^T x, over
 * all leading axes at once. With a float16 weight, which is never trained, both products are computed
 * in float16.
 */
export function linear(g: Graph, x: Value, weight: Value): Value {
  const [out = 1, inner = 1] = weight.shape;
  if (weight.dtype === 'float16') {
    const product = (a: Value, b: Value): Value => cast(g, matmul(g, cast(g, a, 'float16'), b), x.dtype);
    return g.compositeOf(
      [x, weight],
      () => product(x, swapLast(g, weight)),
      (dy) => [product(dy, weight), undefined],
    );
  }
  return g.compositeOf(
    [x, weight],
    () => matmul(g, x, swapLast(g, weight)),
    (dy) => [
      matmul(g, dy, weight),
      matmul(g, swapLast(g, reshape(g, dy, ['flattened', out])), reshape(g, x, ['flattened', inner])),
    ],
  );
}

/** Exchanges the last two axes. */
export function swapLast(g: Graph, x: Value): Value {
  const rank = x.shape.length;
  return transpose(
    g,
    x,
    x.shape.map((_, axis) => (axis === rank - 1 ? rank - 2 : axis === rank - 2 ? rank - 1 : axis)),
  );
}

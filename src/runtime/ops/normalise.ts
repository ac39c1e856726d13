/** Softmax and root-mean-square normalisation. */
import type { Graph, Value } from '../graph.ts';
import { sum, sumToShape } from './broadcast.ts';
import { add, div, exp, mul, sqrt, square, sub } from './elementwise.ts';
import { mean } from './reduce.ts';

/** Softmax over the last axis. dx = y (dy - sum(dy y)). */
export function softmax(g: Graph, x: Value): Value {
  const y: Value = g.apply({
    op: 'Softmax',
    inputs: [x],
    attributes: { axis: -1 },
    dtype: x.dtype,
    shape: x.shape,
    vjp: ([dy]) => [dy && mul(g, y, sub(g, dy, sum(g, mul(g, dy, y), [-1], true)))],
  });
  return y;
}

/** Logarithm of the softmax over the last axis. dx = dy - exp(y) sum(dy). */
export function logSoftmax(g: Graph, x: Value): Value {
  const y: Value = g.apply({
    op: 'LogSoftmax',
    inputs: [x],
    attributes: { axis: -1 },
    dtype: x.dtype,
    shape: x.shape,
    vjp: ([dy]) => [dy && sub(g, dy, mul(g, exp(g, y), sum(g, dy, [-1], true)))],
  });
  return y;
}

/**
 * y = x / sqrt(mean(x^2) + epsilon) * weight over the last axis, weight [width].
 * With r = 1/sqrt(mean(x^2) + epsilon) and u = dy weight: dx = r (u - x r^2 mean(u x)), dweight = sum over rows of dy x r.
 */
export function rmsNorm(g: Graph, x: Value, weight: Value, epsilon: number): Value {
  return g.apply({
    op: 'SimplifiedLayerNormalization',
    inputs: [x, weight],
    attributes: { axis: -1, epsilon: { float: epsilon }, stash_type: 1 },
    dtype: x.dtype,
    shape: x.shape,
    vjp: ([dy]) => {
      if (dy === undefined) return [undefined, undefined];
      const root = sqrt(g, add(g, mean(g, square(g, x), -1, true), g.scalar(epsilon)));
      const normalised = div(g, x, root);
      const u = mul(g, dy, weight);
      const dx = div(g, sub(g, u, mul(g, normalised, mean(g, mul(g, u, normalised), -1, true))), root);
      return [dx, sumToShape(g, mul(g, dy, normalised), weight)];
    },
  });
}

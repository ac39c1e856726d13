/** Softmax in log space and root-mean-square normalization. */

import type { Graph, Value } from '../graph.ts';
import { rowMaximum } from './attention.ts';
import { reshapeLike, sum } from './broadcast.ts';
import { add, div, exp, mul, neg, sqrt, sub } from './elementwise.ts';
import { addAt, gatherElements } from './gather.ts';
import { matmul } from './linear.ts';
import { reshape } from './shape.ts';

/** Logarithm of the softmax over the last axis of [rows, width]. dx = dy - softmax(x) sum(dy). */
export function logSoftmax(g: Graph, x: Value): Value {
  let exponentials: Value = x;
  return g.compositeOf(
    [x],
    () => {
      const shifted = sub(g, x, rowMaximum(g, x));
      exponentials = exp(g, shifted);
      return sub(g, shifted, logSumLastAxis(g, exponentials));
    },
    (dy) => [sub(g, dy, mul(g, exponentials, div(g, sum(g, dy, [-1], true), sum(g, exponentials, [-1], true))))],
  );
}

/**
 * Root-mean-square normalization over the last axis, weight [width]:
 *
 *   r = 1 / sqrt(mean(x^2) + epsilon)
 *   y = x r weight
 *
 * and backward, with t = dy x:
 *
 *   dx      = r dy weight - x r^3 (t weight) / width
 *   dweight = r^T t
 */
export function rmsNorm(g: Graph, x: Value, weight: Value, epsilon: number): Value {
  return g.apply({
    op: 'SimplifiedLayerNormalization',
    inputs: [x, weight],
    attributes: { axis: -1, epsilon: { float: epsilon }, stash_type: 1 },
    dtype: x.dtype,
    shape: x.shape,
    vjp: ([dy]) => {
      if (dy === undefined) {
        return [undefined, undefined];
      }
      const width = Number(x.shape.at(-1));
      const rows = reshape(g, x, ['normalised', width]);
      const dyRows = reshape(g, dy, ['normalised', width]);
      const squares = g.apply({
        op: 'ReduceSumSquare',
        inputs: [rows, g.ints([1])],
        attributes: { keepdims: 1 },
        dtype: x.dtype,
        shape: ['normalised', 1],
      });
      const inverse = div(g, g.scalar(1), sqrt(g, add(g, mul(g, squares, g.scalar(1 / width)), g.scalar(epsilon))));
      const products = mul(g, dyRows, rows);
      const projected = matmul(g, products, reshape(g, weight, [width, 1]));
      const along = mul(g, mul(g, projected, g.scalar(1 / width)), mul(g, inverse, mul(g, inverse, inverse)));
      const dx = sub(g, mul(g, mul(g, dyRows, weight), inverse), mul(g, rows, along));
      const dweight = matmul(g, reshape(g, inverse, [1, 'normalised']), products);
      return [reshapeLike(g, dx, x), reshape(g, dweight, [width])];
    },
  });
}

/**
 * log softmax(x) at one element of each row: x [rows, width], targets int [rows, 1]; result [rows, 1],
 * the same numbers as those of `logSoftmax`. dx = dy (one-hot(target) - softmax(x)).
 */
export function targetLogSoftmax(g: Graph, x: Value, targets: Value): Value {
  let exponentials: Value = x;
  return g.compositeOf(
    [x],
    () => {
      const shifted = sub(g, x, rowMaximum(g, x));
      exponentials = exp(g, shifted);
      return sub(g, gatherElements(g, shifted, targets), logSumLastAxis(g, exponentials));
    },
    (dy) => [addAt(g, mul(g, exponentials, neg(g, div(g, dy, sum(g, exponentials, [-1], true)))), targets, dy)],
  );
}

/**
 * KL divergence of each row's softmax from another distribution, x and log q [rows, width], q not differentiated:
 *
 *   p  = softmax(x)
 *   y  = sum of p (log p - log q)    [rows, 1]
 *   dx = dy p (log p - log q - y)
 */
export function klDivergence(g: Graph, x: Value, logOther: Value): Value {
  let probabilities: Value = x;
  let differences: Value = x;
  let divergence: Value = x;
  return g.compositeOf(
    [x],
    () => {
      const own = logSoftmax(g, x);
      probabilities = exp(g, own);
      differences = sub(g, own, logOther);
      divergence = sum(g, mul(g, probabilities, differences), [-1], true);
      return divergence;
    },
    (dy) => [mul(g, mul(g, dy, probabilities), sub(g, differences, divergence))],
  );
}

/**
 * KL divergence of another distribution from each row's softmax, x and log q [rows, width], q not differentiated:
 *
 *   p  = softmax(x)
 *   y  = sum of q (log q - log p)    [rows, 1]
 *   dx = dy (p - q)
 */
export function klDivergenceFrom(g: Graph, x: Value, logOther: Value): Value {
  let [probabilities, others] = [x, x];
  return g.compositeOf(
    [x],
    () => {
      const own = logSoftmax(g, x);
      probabilities = exp(g, own);
      others = exp(g, logOther);
      return sum(g, mul(g, others, sub(g, logOther, own)), [-1], true);
    },
    (dy) => [mul(g, dy, sub(g, probabilities, others))],
  );
}

/**
 * log(sum) over the last axis, which is kept. It is one operator, because the element-wise logarithm
 * treats the last few elements of a vector differently from the others.
 */
function logSumLastAxis(g: Graph, x: Value): Value {
  const last = x.shape.length - 1;
  return g.apply({
    op: 'ReduceLogSum',
    inputs: [x, g.ints([last])],
    attributes: { keepdims: 1 },
    dtype: x.dtype,
    shape: [...x.shape.slice(0, last), 1],
  });
}

/** One entry per operator: its value and its vector-Jacobian product in plain loops, written from the definition. */

import type { Dim, Graph, Value } from '../../../src/runtime/graph/graph.ts';
import { expandLike, reshapeLike, sum, sumToShape } from '../../../src/runtime/graph/ops/broadcast.ts';
import {
  add,
  cast,
  clip,
  div,
  exp,
  lessOrEqual,
  log,
  minimum,
  mul,
  neg,
  select,
  sigmoid,
  sqrt,
  square,
  sub,
} from '../../../src/runtime/graph/ops/elementwise.ts';
import { gatherDistinctRows, gatherElements, gatherRows } from '../../../src/runtime/graph/ops/gather.ts';
import { matmul, swapLast } from '../../../src/runtime/graph/ops/linear.ts';
import { logSoftmax, rmsNorm } from '../../../src/runtime/graph/ops/normalise.ts';
import { mean, sumAll } from '../../../src/runtime/graph/ops/reduce.ts';
import { concat, pad, reshape, slice, transpose, unsqueeze } from '../../../src/runtime/graph/ops/shape.ts';
import { at, item, make, noise, range, total, type Nd } from './nd.ts';

export interface OperatorCase {
  readonly name: string;
  readonly inputs: readonly Nd[];
  /** Declared shapes, where they have names. */
  readonly shapes?: readonly (readonly Dim[])[];
  readonly build: (g: Graph, ...x: Value[]) => Value;
  readonly forward: (...x: Nd[]) => Nd;
  /** Cotangents of the inputs from that of the output, by the formula. */
  readonly backward: (w: Nd, ...x: Nd[]) => readonly Nd[];
}

export const S23 = [2, 3] as const;
export const sigma = (x: number): number => 1 / (1 + Math.exp(-x));
export const sumOver = (count: number, term: (index: number) => number): number => total(range(count).map(term));
export const where = (condition: boolean, a: number, b = 0): number => (condition ? a : b);

/** An operator of one element, by its function and its derivative. */
const unary = (
  name: string,
  build: (g: Graph, x: Value) => Value,
  f: (x: number) => number,
  df: (x: number) => number,
  [low, high]: readonly [number, number] = [-2, 2],
): OperatorCase => ({
  name,
  inputs: [noise(name, S23, low, high)],
  shapes: [['rows', 3]],
  build,
  forward: (x) => make(S23, (i, j) => f(at(x, i, j))),
  backward: (w, x) => [make(S23, (i, j) => at(w, i, j) * df(at(x, i, j)))],
});

/** An operator of two elements, on [rows, 3] and a broadcast [1, 3], by its function and its partial derivatives. */
const binary = (
  name: string,
  build: (g: Graph, a: Value, b: Value) => Value,
  f: (a: number, b: number) => number,
  da: (a: number, b: number) => number,
  db: (a: number, b: number) => number,
): OperatorCase => ({
  name,
  inputs: [noise(`${name} a`, S23, 0.5, 2), noise(`${name} b`, [1, 3], 0.5, 2)],
  shapes: [
    ['rows', 3],
    [1, 3],
  ],
  build,
  forward: (a, b) => make(S23, (i, j) => f(at(a, i, j), at(b, i, j))),
  backward: (w, a, b) => [
    make(S23, (i, j) => at(w, i, j) * da(at(a, i, j), at(b, i, j))),
    make([1, 3], (_, j) => sumOver(2, (i) => at(w, i, j) * db(at(a, i, j), at(b, i, j)))),
  ],
});

/** An operator that moves elements: output index to input index, undefined where the output is zero. */
const movement = (
  name: string,
  shape: readonly number[],
  shapes: readonly Dim[],
  build: (g: Graph, x: Value) => Value,
  outShape: readonly number[],
  source: (...index: number[]) => number[] | undefined,
): OperatorCase => {
  const moved = (x: Nd): Nd =>
    make(outShape, (...index) => {
      const from = source(...index);
      return from === undefined ? 0 : at(x, ...from);
    });
  const positions = make(shape, (...index) => index.reduce((flat, one, axis) => flat * item(shape, axis) + one, 0));
  const origin = make(outShape, (...index) => {
    const from = source(...index);
    return from === undefined ? -1 : at(positions, ...from);
  });
  return {
    name,
    inputs: [noise(name, shape)],
    shapes: [shapes],
    build,
    forward: moved,
    backward: (w) => [
      {
        shape,
        data: Float64Array.from(positions.data, (position) =>
          total([...w.data].filter((_, flat) => origin.data[flat] === position)),
        ),
      },
    ],
  };
};

export const softmaxOf = (x: Nd): Nd => {
  const sums = make([2, 1], (i) => sumOver(3, (j) => Math.exp(at(x, i, j))));
  return make(S23, (i, j) => Math.exp(at(x, i, j)) / at(sums, i, 0));
};
/** A power of two, because the operator's attribute is a float32. */
const EPSILON = 2 ** -7;
const rootOf = (x: Nd, i: number): number => Math.sqrt(sumOver(4, (j) => at(x, i, j) ** 2) / 4 + EPSILON);
const TABLE_ROWS = [3, 1, 3, 0];
const DISTINCT_ROWS = [3, 0, 2];

export const CASES: readonly OperatorCase[] = [
  binary(
    'add',
    add,
    (a, b) => a + b,
    () => 1,
    () => 1,
  ),
  binary(
    'sub',
    sub,
    (a, b) => a - b,
    () => 1,
    () => -1,
  ),
  binary(
    'mul',
    mul,
    (a, b) => a * b,
    (_, b) => b,
    (a) => a,
  ),
  binary(
    'div',
    div,
    (a, b) => a / b,
    (_, b) => 1 / b,
    (a, b) => -a / b ** 2,
  ),
  binary(
    'minimum',
    minimum,
    Math.min,
    (a, b) => where(a <= b, 1),
    (a, b) => where(a > b, 1),
  ),
  {
    name: 'mul by a row and a scalar of lower rank',
    inputs: [noise('low rank a', S23), noise('low rank b', [3]), noise('low rank c', [])],
    build: (g, a, b, c) => mul(g, mul(g, a, b), c),
    forward: (a, b, c) => make(S23, (i, j) => at(a, i, j) * at(b, j) * at(c)),
    backward: (w, a, b, c) => [
      make(S23, (i, j) => at(w, i, j) * at(b, j) * at(c)),
      make([3], (j) => sumOver(2, (i) => at(w, i, j) * at(a, i, j) * at(c))),
      make([], () => sumOver(2, (i) => sumOver(3, (j) => at(w, i, j) * at(a, i, j) * at(b, j)))),
    ],
  },
  unary(
    'neg',
    neg,
    (x) => -x,
    () => -1,
  ),
  unary('exp', exp, Math.exp, Math.exp),
  unary('log', log, Math.log, (x) => 1 / x, [0.2, 3]),
  unary('sqrt', sqrt, Math.sqrt, (x) => 0.5 / Math.sqrt(x), [0.2, 3]),
  unary(
    'square',
    square,
    (x) => x * x,
    (x) => 2 * x,
  ),
  unary('sigmoid', sigmoid, sigma, (x) => sigma(x) * (1 - sigma(x))),
  unary(
    'clip',
    (g, x) => clip(g, x, -0.5, 0.8),
    (x) => Math.min(0.8, Math.max(-0.5, x)),
    (x) => where(x >= -0.5 && x <= 0.8, 1),
  ),
  {
    name: 'cast through float32',
    inputs: [noise('cast', S23)],
    shapes: [['rows', 3]],
    build: (g, x) => cast(g, cast(g, x, 'float32'), 'float64'),
    forward: (x) => make(S23, (i, j) => Math.fround(at(x, i, j))),
    backward: (w) => [make(S23, (i, j) => Math.fround(at(w, i, j)))],
  },
  {
    name: 'select of a value and a broadcast column',
    inputs: [noise('select a', S23), noise('select b', [2, 1])],
    shapes: [
      ['rows', 3],
      ['rows', 1],
    ],
    build: (g, a, b) => select(g, lessOrEqual(g, a, g.scalar(0)), a, b),
    forward: (a, b) => make(S23, (i, j) => where(at(a, i, j) <= 0, at(a, i, j), at(b, i, j))),
    backward: (w, a) => [
      make(S23, (i, j) => where(at(a, i, j) <= 0, at(w, i, j))),
      make([2, 1], (i) => sumOver(3, (j) => where(at(a, i, j) > 0, at(w, i, j)))),
    ],
  },
  {
    name: 'select with a missing branch',
    inputs: [noise('half select', S23)],
    build: (g, x) => select(g, lessOrEqual(g, x, g.scalar(0)), undefined, x),
    forward: (x) => make(S23, (i, j) => Math.max(0, at(x, i, j))),
    backward: (w, x) => [make(S23, (i, j) => where(at(x, i, j) > 0, at(w, i, j)))],
  },
  {
    name: 'sum over a middle axis',
    inputs: [noise('sum', [2, 3, 2])],
    shapes: [['rows', 'time', 2]],
    build: (g, x) => sum(g, x, [-2]),
    forward: (x) => make([2, 2], (i, k) => sumOver(3, (j) => at(x, i, j, k))),
    backward: (w) => [make([2, 3, 2], (i, _, k) => at(w, i, k))],
  },
  {
    name: 'sum over two axes, kept',
    inputs: [noise('kept sum', [2, 3, 2])],
    build: (g, x) => sum(g, x, [0, 2], true),
    forward: (x) => make([1, 3, 1], (_, j) => sumOver(2, (i) => sumOver(2, (k) => at(x, i, j, k)))),
    backward: (w) => [make([2, 3, 2], (_, j) => at(w, 0, j, 0))],
  },
  {
    name: 'sumAll',
    inputs: [noise('sumAll', S23)],
    shapes: [['rows', 3]],
    build: sumAll,
    forward: (x) => make([], () => total(x.data)),
    backward: (w) => [make(S23, () => at(w))],
  },
  {
    name: 'mean',
    inputs: [noise('mean', S23)],
    shapes: [['rows', 3]],
    build: (g, x) => mean(g, x, -1),
    forward: (x) => make([2], (i) => sumOver(3, (j) => at(x, i, j)) / 3),
    backward: (w) => [make(S23, (i) => at(w, i) / 3)],
  },
  {
    name: 'sumToShape',
    inputs: [noise('sumToShape', [4, 2, 3]), noise('like', [2, 1])],
    shapes: [
      ['batch', 'rows', 3],
      ['rows', 1],
    ],
    build: (g, x, like) => mul(g, sumToShape(g, x, like), like),
    forward: (x, like) => make([2, 1], (i) => at(like, i, 0) * sumOver(4, (b) => sumOver(3, (j) => at(x, b, i, j)))),
    backward: (w, x, like) => [
      make([4, 2, 3], (_, i) => at(w, i, 0) * at(like, i, 0)),
      make([2, 1], (i) => at(w, i, 0) * sumOver(4, (b) => sumOver(3, (j) => at(x, b, i, j)))),
    ],
  },
  {
    name: 'expandLike',
    inputs: [noise('expand', [2, 1]), noise('expanded', [4, 2, 3])],
    shapes: [
      ['rows', 1],
      ['batch', 'rows', 3],
    ],
    build: (g, x, like) => mul(g, expandLike(g, x, like), like),
    forward: (x, like) => make([4, 2, 3], (b, i, j) => at(x, i, 0) * at(like, b, i, j)),
    backward: (w, x, like) => [
      make([2, 1], (i) => sumOver(4, (b) => sumOver(3, (j) => at(w, b, i, j) * at(like, b, i, j)))),
      make([4, 2, 3], (b, i, j) => at(w, b, i, j) * at(x, i, 0)),
    ],
  },
  {
    name: 'reshapeLike',
    inputs: [noise('reshaped', [2, 6]), noise('reshape like', [4, 3])],
    shapes: [
      ['rows', 6],
      ['more', 3],
    ],
    build: (g, x, like) => mul(g, reshapeLike(g, x, like), like),
    forward: (x, like) => make([4, 3], (i, j) => item(x.data, 3 * i + j) * at(like, i, j)),
    backward: (w, x, like) => [
      make([2, 6], (i, j) => item(w.data, 6 * i + j) * item(like.data, 6 * i + j)),
      make([4, 3], (i, j) => at(w, i, j) * item(x.data, 3 * i + j)),
    ],
  },
  movement(
    'reshape that copies one length and splits another',
    [2, 3, 4],
    ['rows', 'time', 4],
    (g, x) => reshape(g, x, ['rows', 'time', 2, 2]),
    [2, 3, 2, 2],
    (i, j, k, l) => [i, j, 2 * k + l],
  ),
  movement(
    'reshape that infers a length',
    [2, 3, 4],
    ['rows', 'time', 4],
    (g, x) => reshape(g, x, ['flat', 4]),
    [6, 4],
    (i, j) => [Math.floor(i / 3), i % 3, j],
  ),
  movement(
    'transpose',
    [2, 3, 4],
    ['rows', 3, 4],
    (g, x) => transpose(g, x, [2, 0, 1]),
    [4, 2, 3],
    (i, j, k) => [j, k, i],
  ),
  movement('swapLast', [2, 3, 4], ['rows', 3, 4], swapLast, [2, 4, 3], (i, j, k) => [i, k, j]),
  movement(
    'unsqueeze',
    [2, 3],
    ['rows', 3],
    (g, x) => unsqueeze(g, x, [3, 1]),
    [2, 1, 3, 1],
    (i, _, k) => [i, k],
  ),
  movement(
    'slice',
    [2, 5],
    ['rows', 5],
    (g, x) => slice(g, x, 1, 1, 3),
    [2, 2],
    (i, j) => [i, j + 1],
  ),
  movement(
    'pad',
    [2, 3],
    ['rows', 3],
    (g, x) => pad(g, x, 1, 2, 1),
    [2, 6],
    (i, j) => (j < 2 || j > 4 ? undefined : [i, j - 2]),
  ),
  {
    name: 'concat',
    inputs: [noise('left', [2, 1]), noise('middle', [2, 3]), noise('right', [2, 2])],
    shapes: [
      ['rows', 1],
      ['rows', 3],
      ['rows', 2],
    ],
    build: (g, ...parts) => concat(g, parts, 1),
    forward: (left, middle, right) =>
      make([2, 6], (i, j) => (j < 1 ? at(left, i, j) : j < 4 ? at(middle, i, j - 1) : at(right, i, j - 4))),
    backward: (w) => [
      make([2, 1], (i) => at(w, i, 0)),
      make([2, 3], (i, j) => at(w, i, j + 1)),
      make([2, 2], (i, j) => at(w, i, j + 4)),
    ],
  },
  {
    name: 'gatherRows with a repeated row',
    inputs: [noise('table', [5, 2])],
    build: (g, table) => gatherRows(g, table, g.ints(TABLE_ROWS, [2, 2])),
    forward: (table) => make([2, 2, 2], (i, j, k) => at(table, item(TABLE_ROWS, 2 * i + j), k)),
    backward: (w) => [
      make([5, 2], (row, k) => sumOver(4, (flat) => where(TABLE_ROWS[flat] === row, item(w.data, 2 * flat + k)))),
    ],
  },
  {
    name: 'gatherRows with int32 indices, whose gradient is a product',
    inputs: [noise('small table', [5, 2])],
    build: (g, table) => gatherRows(g, table, g.int32s(TABLE_ROWS, [2, 2])),
    forward: (table) => make([2, 2, 2], (i, j, k) => at(table, item(TABLE_ROWS, 2 * i + j), k)),
    backward: (w) => [
      make([5, 2], (row, k) => sumOver(4, (flat) => where(TABLE_ROWS[flat] === row, item(w.data, 2 * flat + k)))),
    ],
  },
  {
    name: 'gatherDistinctRows',
    inputs: [noise('distinct', [4, 3])],
    shapes: [['rows', 3]],
    build: (g, x) => gatherDistinctRows(g, x, g.int32s(DISTINCT_ROWS), g.int32s([1, 3, 2, 0])),
    forward: (x) => make([3, 3], (i, j) => at(x, item(DISTINCT_ROWS, i), j)),
    backward: (w) => [
      make([4, 3], (row, j) => (DISTINCT_ROWS.includes(row) ? at(w, DISTINCT_ROWS.indexOf(row), j) : 0)),
    ],
  },
  {
    name: 'gatherElements',
    inputs: [noise('elements', S23)],
    shapes: [['rows', 3]],
    build: (g, x) => gatherElements(g, x, g.ints([2, 0], [2, 1])),
    forward: (x) => make([2, 1], (i) => at(x, i, 2 - 2 * i)),
    backward: (w) => [make(S23, (i, j) => where(j === 2 - 2 * i, at(w, i, 0)))],
  },
  {
    name: 'matmul of rows and a weight',
    inputs: [noise('rows', [2, 3, 4]), noise('weight', [4, 2])],
    shapes: [
      ['rows', 'time', 4],
      [4, 2],
    ],
    build: matmul,
    forward: (a, b) => make([2, 3, 2], (i, j, l) => sumOver(4, (k) => at(a, i, j, k) * at(b, k, l))),
    backward: (w, a, b) => [
      make([2, 3, 4], (i, j, k) => sumOver(2, (l) => at(w, i, j, l) * at(b, k, l))),
      make([4, 2], (k, l) => sumOver(2, (i) => sumOver(3, (j) => at(a, i, j, k) * at(w, i, j, l)))),
    ],
  },
  {
    name: 'matmul of batches, one of them broadcast',
    inputs: [noise('batch a', [2, 3, 2, 4]), noise('batch b', [3, 4, 2])],
    shapes: [
      ['rows', 3, 'time', 4],
      [3, 4, 2],
    ],
    build: matmul,
    forward: (a, b) => make([2, 3, 2, 2], (i, h, j, l) => sumOver(4, (k) => at(a, i, h, j, k) * at(b, h, k, l))),
    backward: (w, a, b) => [
      make([2, 3, 2, 4], (i, h, j, k) => sumOver(2, (l) => at(w, i, h, j, l) * at(b, h, k, l))),
      make([3, 4, 2], (h, k, l) => sumOver(2, (i) => sumOver(2, (j) => at(a, i, h, j, k) * at(w, i, h, j, l)))),
    ],
  },
  {
    name: 'logSoftmax',
    inputs: [noise('logSoftmax', S23, -3, 3)],
    shapes: [['rows', 3]],
    build: logSoftmax,
    forward: (x) => make(S23, (i, j) => Math.log(at(softmaxOf(x), i, j))),
    backward: (w, x) => [make(S23, (i, j) => at(w, i, j) - at(softmaxOf(x), i, j) * sumOver(3, (k) => at(w, i, k)))],
  },
  {
    name: 'rmsNorm',
    // Of 4 the inverse is exact: the runtime would join it to a product as a float32.
    inputs: [noise('norm', [2, 4]), noise('norm weight', [4], 0.5, 2)],
    shapes: [['rows', 4], [4]],
    build: (g, x, weight) => rmsNorm(g, x, weight, EPSILON),
    forward: (x, weight) => make([2, 4], (i, j) => (at(x, i, j) / rootOf(x, i)) * at(weight, j)),
    backward: (w, x, weight) => [
      make([2, 4], (i, j) => {
        const root = rootOf(x, i);
        const inner = sumOver(4, (k) => at(w, i, k) * at(weight, k) * at(x, i, k)) / 4;
        return (at(w, i, j) * at(weight, j)) / root - (at(x, i, j) * inner) / root ** 3;
      }),
      make([4], (j) => sumOver(2, (i) => (at(w, i, j) * at(x, i, j)) / rootOf(x, i))),
    ],
  },
];

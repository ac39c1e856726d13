/** Reductions and their vector-Jacobian products. */
import type { Dim, Graph, Value } from '../graph.ts';
import { div } from './elementwise.ts';
import { expandLike, reshapeLike } from './shape.ts';

/** Sum over the given axes (all when none are given). */
export function sum(g: Graph, x: Value, axes: readonly number[], keepDims = false): Value {
  const positive = axes.map((axis) => (axis < 0 ? axis + x.shape.length : axis));
  const kept: readonly Dim[] = x.shape.map((dim, axis) => (positive.includes(axis) ? 1 : dim));
  return g.apply({
    op: 'ReduceSum',
    inputs: [x, g.ints(positive)],
    attributes: { keepdims: keepDims ? 1 : 0 },
    dtype: x.dtype,
    shape: keepDims ? kept : x.shape.filter((_, axis) => !positive.includes(axis)),
    vjp: ([dy]) => [dy && expandLike(g, keepDims ? dy : withUnitAxes(g, dy, positive, kept), x), undefined],
  });
}

/** Sum of every element, a scalar. */
export const sumAll = (g: Graph, x: Value): Value => sum(g, x, x.shape.map((_, axis) => axis));

/** The largest element, a scalar; not differentiable. */
export const maxAll = (g: Graph, x: Value): Value => g.apply({ op: 'ReduceMax', inputs: [x], attributes: { keepdims: 0 }, dtype: x.dtype, shape: [] });

/** Mean over one axis of known length. */
export function mean(g: Graph, x: Value, axis: number, keepDims = false): Value {
  const length = x.shape.at(axis);
  if (typeof length !== 'number') throw new Error('mean needs an axis of known length.');
  return div(g, sum(g, x, [axis], keepDims), g.scalar(length));
}

/** Undoes a broadcast: sums dy over the axes along which `like` was repeated, so that the result has the shape of `like`. */
export function sumToShape(g: Graph, dy: Value, like: Value): Value {
  const offset = dy.shape.length - like.shape.length;
  const axes = dy.shape.map((_, axis) => axis).filter((axis) => axis < offset || (like.shape[axis - offset] === 1 && dy.shape[axis] !== 1));
  if (axes.length === 0) return dy;
  const summed = sum(g, dy, axes, true);
  return offset === 0 ? summed : reshapeLike(g, summed, like);
}

function withUnitAxes(g: Graph, dy: Value, axes: readonly number[], shape: readonly Dim[]): Value {
  return g.apply({ op: 'Unsqueeze', inputs: [dy, g.ints(axes)], dtype: dy.dtype, shape, vjp: ([dz]) => [dz && reshapeLike(g, dz, dy), undefined] });
}

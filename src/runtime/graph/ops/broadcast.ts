/** Sums and broadcasts. Each is the vector-Jacobian product of the other. */

import type { Dim, Graph, Value } from '../graph.ts';

/** Returns the run-time shape as an int64 vector. */
export function runtimeShape(g: Graph, x: Value): Value {
  return g.apply({ op: 'Shape', inputs: [x], dtype: 'int64', shape: [x.shape.length] });
}

/** Reshapes to the run-time shape of another value. */
export function reshapeLike(g: Graph, x: Value, like: Value): Value {
  const known = like.shape.every((dim) => typeof dim === 'number');
  const target = known ? g.ints(like.shape.map(Number)) : runtimeShape(g, like);
  return g.apply({
    op: 'Reshape',
    inputs: [x, target],
    dtype: x.dtype,
    shape: like.shape,
    vjp: ([dy]) => [dy && reshapeLike(g, dy, x), undefined],
  });
}

/** Broadcasts to the run-time shape of another value. */
export function expandLike(g: Graph, x: Value, like: Value): Value {
  return g.apply({
    op: 'Expand',
    inputs: [x, runtimeShape(g, like)],
    dtype: x.dtype,
    shape: like.shape,
    vjp: ([dy]) => [dy && sumToShape(g, dy, x), undefined],
  });
}

/** Sums over the given axes (all if none are given). */
export function sum(g: Graph, x: Value, axes: readonly number[], keepDims = false): Value {
  const positive = axes.map((axis) => (axis < 0 ? axis + x.shape.length : axis));
  const kept: readonly Dim[] = x.shape.map((dim, axis) => (positive.includes(axis) ? 1 : dim));
  return g.apply({
    op: 'ReduceSum',
    inputs: [x, g.ints(positive)],
    attributes: { keepdims: keepDims ? 1 : 0 },
    dtype: x.dtype,
    shape: keepDims ? kept : x.shape.filter((_, axis) => !positive.includes(axis)),
    vjp: ([dy]) => [dy && expandLike(g, keepDims ? dy : addUnitAxes(g, dy, positive, kept), x), undefined],
  });
}

/** Undoes a broadcast: sums dy over the axes along which `like` was repeated. */
export function sumToShape(g: Graph, dy: Value, like: Value): Value {
  const offset = dy.shape.length - like.shape.length;
  const axes = dy.shape
    .map((_, axis) => axis)
    .filter((axis) => axis < offset || (like.shape[axis - offset] === 1 && dy.shape[axis] !== 1));
  if (axes.length === 0) {
    return dy;
  }
  const summed = sum(g, dy, axes, true);
  return offset === 0 ? summed : reshapeLike(g, summed, like);
}

function addUnitAxes(g: Graph, dy: Value, axes: readonly number[], shape: readonly Dim[]): Value {
  return g.apply({
    op: 'Unsqueeze',
    inputs: [dy, g.ints(axes)],
    dtype: dy.dtype,
    shape,
    vjp: ([dz]) => [dz && reshapeLike(g, dz, dy), undefined],
  });
}

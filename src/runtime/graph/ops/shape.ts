/** Operators that move elements without changing them. */

import type { Dim, Graph, Value } from '../graph.ts';
import { reshapeLike } from './broadcast.ts';

/**
 * Reshapes to a shape with at most one unknown (named) length, apart from names that x has at the same
 * axis. ONNX's 0 copies the length of the same axis, -1 infers one.
 */
export function reshape(g: Graph, x: Value, shape: readonly Dim[]): Value {
  let inferred = false;
  const target = shape.map((dim, axis) => {
    if (typeof dim === 'number') {
      return dim;
    }
    if (x.shape[axis] === dim) {
      return 0;
    }
    if (inferred) {
      throw new Error(`reshape to [${shape.join(', ')}] leaves more than one length open.`);
    }
    inferred = true;
    return -1;
  });
  return g.apply({
    op: 'Reshape',
    inputs: [x, g.ints(target)],
    dtype: x.dtype,
    shape,
    vjp: ([dy]) => [dy && reshapeLike(g, dy, x), undefined],
  });
}

export function transpose(g: Graph, x: Value, order: readonly number[]): Value {
  const inverse = order.map((_, axis) => order.indexOf(axis));
  return g.apply({
    op: 'Transpose',
    inputs: [x],
    attributes: { perm: order },
    dtype: x.dtype,
    shape: order.map((axis) => x.shape[axis] ?? 1),
    vjp: ([dy]) => [dy && transpose(g, dy, inverse)],
  });
}

/** Adds axes of length 1 at the given positions of the result. */
export function unsqueeze(g: Graph, x: Value, axes: readonly number[]): Value {
  const shape: Dim[] = [...x.shape];
  for (const axis of [...axes].sort((a, b) => a - b)) {
    shape.splice(axis, 0, 1);
  }
  return g.apply({
    op: 'Unsqueeze',
    inputs: [x, g.ints(axes)],
    dtype: x.dtype,
    shape,
    vjp: ([dy]) => [dy && reshapeLike(g, dy, x), undefined],
  });
}

/** Takes the elements from start to end (exclusive) along one axis of known length. */
export function slice(g: Graph, x: Value, axis: number, start: number, end: number): Value {
  const length = x.shape[axis];
  if (typeof length !== 'number') {
    throw new Error('slice needs an axis of known length.');
  }
  return g.apply({
    op: 'Slice',
    inputs: [x, g.ints([start]), g.ints([end]), g.ints([axis])],
    dtype: x.dtype,
    shape: x.shape.map((dim, index) => (index === axis ? end - start : dim)),
    vjp: ([dy]) => [dy && pad(g, dy, axis, start, length - end), undefined, undefined, undefined],
  });
}

/** Adds zeros before and after along one axis. */
export function pad(g: Graph, x: Value, axis: number, before: number, after: number): Value {
  const rank = x.shape.length;
  const pads = Array.from({ length: 2 * rank }, (_, index) =>
    index === axis ? before : index === axis + rank ? after : 0,
  );
  const length = Number(x.shape[axis]);
  return g.apply({
    op: 'Pad',
    inputs: [x, g.ints(pads)],
    dtype: x.dtype,
    shape: x.shape.map((dim, index) => (index === axis ? length + before + after : dim)),
    vjp: ([dy]) => [dy && slice(g, dy, axis, before, before + length), undefined],
  });
}

/** Splits a value into consecutive parts of known lengths along one axis. */
export function split(g: Graph, x: Value, axis: number, lengths: readonly number[]): readonly Value[] {
  const shapeOfPart = (length: number): readonly Dim[] => x.shape.map((dim, index) => (index === axis ? length : dim));
  return g.node({
    op: 'Split',
    inputs: [x, g.ints(lengths)],
    attributes: { axis },
    outputs: lengths.map((length) => ({ dtype: x.dtype, shape: shapeOfPart(length) })),
    vjp: (cotangents) => {
      const parts = cotangents.flatMap((cotangent) => cotangent ?? []);
      if (parts.length < lengths.length) {
        throw new Error('A split is differentiable only if the loss depends on every part.');
      }
      return [
        g.apply({ op: 'Concat', inputs: parts, attributes: { axis }, dtype: x.dtype, shape: x.shape }),
        undefined,
      ];
    },
  });
}

/** Joins values along one axis of known lengths. */
export function concat(g: Graph, parts: readonly Value[], axis: number): Value {
  const first = parts[0];
  if (first === undefined) {
    throw new Error('concat of nothing.');
  }
  const lengths = parts.map((part) => Number(part.shape[axis]));
  const total = lengths.reduce((a, b) => a + b, 0);
  return g.apply({
    op: 'Concat',
    inputs: parts,
    attributes: { axis },
    dtype: first.dtype,
    shape: first.shape.map((dim, index) => (index === axis ? total : dim)),
    vjp: ([dy]) => {
      let start = 0;
      return lengths.map((length) => {
        const from = start;
        start += length;
        return dy && slice(g, dy, axis, from, from + length);
      });
    },
  });
}

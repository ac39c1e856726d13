/** Element-wise operators with numpy broadcasting, each with its vector-Jacobian product. */

import type { Dim, DType, Graph, Value } from '../graph.ts';
import { sumToShape } from './broadcast.ts';

/** Returns the shape of a broadcast result. Dimensions must be equal (number or name) or 1. */
export function broadcastShape(a: readonly Dim[], b: readonly Dim[]): readonly Dim[] {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, index) => {
    const left = a[index - rank + a.length] ?? 1;
    const right = b[index - rank + b.length] ?? 1;
    if (left === right || right === 1) {
      return left;
    }
    if (left === 1) {
      return right;
    }
    throw new Error(`Shapes [${a.join(', ')}] and [${b.join(', ')}] do not broadcast.`);
  });
}

type BinaryVjp = (dy: Value, y: Value) => readonly [Value | undefined, Value | undefined];

function binary(g: Graph, op: string, a: Value, b: Value, dtype: DType, vjp?: BinaryVjp): Value {
  const y: Value = g.apply({
    op,
    inputs: [a, b],
    dtype,
    shape: broadcastShape(a.shape, b.shape),
    ...(vjp && {
      vjp: ([dy]) => {
        if (dy === undefined) {
          return [undefined, undefined];
        }
        const [da, db] = vjp(dy, y);
        return [da && sumToShape(g, da, a), db && sumToShape(g, db, b)];
      },
    }),
  });
  return y;
}

function unary(g: Graph, op: string, x: Value, vjp?: (dy: Value, y: Value) => Value): Value {
  const y: Value = g.apply({
    op,
    inputs: [x],
    dtype: x.dtype,
    shape: x.shape,
    ...(vjp && { vjp: ([dy]) => [dy && vjp(dy, y)] }),
  });
  return y;
}

export const add = (g: Graph, a: Value, b: Value): Value => binary(g, 'Add', a, b, a.dtype, (dy) => [dy, dy]);
export const sub = (g: Graph, a: Value, b: Value): Value => binary(g, 'Sub', a, b, a.dtype, (dy) => [dy, neg(g, dy)]);
export const mul = (g: Graph, a: Value, b: Value): Value =>
  binary(g, 'Mul', a, b, a.dtype, (dy) => [mul(g, dy, b), mul(g, dy, a)]);
export const div = (g: Graph, a: Value, b: Value): Value =>
  binary(g, 'Div', a, b, a.dtype, (dy, y) => [div(g, dy, b), neg(g, div(g, mul(g, dy, y), b))]);

/** Element-wise minimum; a tie sends the cotangent to the first argument. */
export const minimum = (g: Graph, a: Value, b: Value): Value =>
  binary(g, 'Min', a, b, a.dtype, (dy) => [
    select(g, lessOrEqual(g, a, b), dy),
    select(g, lessOrEqual(g, a, b), undefined, dy),
  ]);

export const neg = (g: Graph, x: Value): Value => unary(g, 'Neg', x, (dy) => neg(g, dy));
export const exp = (g: Graph, x: Value): Value => unary(g, 'Exp', x, (dy, y) => mul(g, dy, y));
export const log = (g: Graph, x: Value): Value => unary(g, 'Log', x, (dy) => div(g, dy, x));
export const sqrt = (g: Graph, x: Value): Value => unary(g, 'Sqrt', x, (dy, y) => div(g, mul(g, dy, g.scalar(0.5)), y));
export const abs = (g: Graph, x: Value): Value => unary(g, 'Abs', x);
export const square = (g: Graph, x: Value): Value => mul(g, x, x);

/** d sigmoid(x) = y (1 - y). */
export const sigmoid = (g: Graph, x: Value): Value =>
  unary(g, 'Sigmoid', x, (dy, y) => mul(g, dy, mul(g, y, sub(g, g.scalar(1), y))));

/**
 * gate sigmoid(gate) up, the gated unit of the Llama family (Shazeer 2020).
 * With s = sigmoid(gate), a = gate s: dgate = dy up (s + a - a s), dup = dy a.
 */
export function swiglu(g: Graph, gate: Value, up: Value): Value {
  let s: Value = gate;
  let a: Value = gate;
  return g.compositeOf(
    [gate, up],
    () => {
      s = sigmoid(g, gate);
      a = mul(g, gate, s);
      return mul(g, a, up);
    },
    (dy) => [mul(g, mul(g, dy, up), add(g, s, sub(g, a, mul(g, a, s)))), mul(g, dy, a)],
  );
}

/** Clips values to [low, high]. The cotangent passes if the value was inside, bounds included. */
export function clip(g: Graph, x: Value, low: number, high: number): Value {
  return g.apply({
    op: 'Clip',
    inputs: [x, g.scalar(low), g.scalar(high)],
    dtype: x.dtype,
    shape: x.shape,
    vjp: ([dy]) => [
      dy && select(g, logicalAnd(g, lessOrEqual(g, g.scalar(low), x), lessOrEqual(g, x, g.scalar(high))), dy),
      undefined,
      undefined,
    ],
  });
}

export const equal = (g: Graph, a: Value, b: Value): Value => binary(g, 'Equal', a, b, 'bool');
export const lessOrEqual = (g: Graph, a: Value, b: Value): Value => binary(g, 'LessOrEqual', a, b, 'bool');
export const logicalAnd = (g: Graph, a: Value, b: Value): Value => binary(g, 'And', a, b, 'bool');

/** Selects a if the condition holds, else b. A missing branch is zero. */
export function select(g: Graph, condition: Value, a: Value | undefined, b?: Value): Value {
  const whenTrue = a ?? g.scalar(0);
  const whenFalse = b ?? g.scalar(0);
  return g.apply({
    op: 'Where',
    inputs: [condition, whenTrue, whenFalse],
    dtype: whenTrue.dtype,
    shape: broadcastShape(condition.shape, broadcastShape(whenTrue.shape, whenFalse.shape)),
    vjp: ([dy]) =>
      dy === undefined
        ? [undefined, undefined, undefined]
        : [
            undefined,
            sumToShape(g, select(g, condition, dy), whenTrue),
            sumToShape(g, select(g, condition, undefined, dy), whenFalse),
          ],
  });
}

/** Converts between element types; differentiable between float types only. */
export function cast(g: Graph, x: Value, dtype: DType): Value {
  const code = { float32: 1, float64: 11, float16: 10, int32: 6, int64: 7, bool: 9 }[dtype];
  const floating = (type: DType): boolean => type.startsWith('float');
  return g.apply({
    op: 'Cast',
    inputs: [x],
    attributes: { to: code },
    dtype,
    shape: x.shape,
    ...(floating(dtype) && floating(x.dtype) && { vjp: ([dy]) => [dy && cast(g, dy, x.dtype)] }),
  });
}

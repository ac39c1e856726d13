/**
 * Pieces of a graph whose inner values are recomputed in the backward pass instead of kept (Chen et
 * al. 2016, Training Deep Nets with Sublinear Memory Cost). ONNX Runtime merges equal nodes and orders
 * nodes freely. A rebuilt piece therefore reads a distinct copy of its input, which becomes available
 * only when the piece should run.
 */

import { pullback } from './autodiff.ts';
import type { Graph, Value } from './graph.ts';
import { abs, add, cast, lessOrEqual, sub } from './ops/elementwise.ts';
import { reshape } from './ops/shape.ts';

/** Builds a part of the graph from `x`. It may also read other values of the graph. */
type Build = (x: Value) => Value;

/** Returns `build(x)`. The backward pass builds it again, and finishes it before it continues. */
export function recomputeBackward(g: Graph, x: Value, build: Build): Value {
  const { y, outside } = buildOpaquePiece(g, x, build);
  const inputs = [x, ...outside];
  g.nodes.push({
    inputs,
    outputs: [y],
    vjp: ([dy], wanted) => {
      if (dy === undefined) {
        return inputs.map(() => undefined);
      }
      const [dx, ...others] = rebuildGradients(g, delayUntil(g, x, [dy]), build, dy, outside, wanted);
      return [dx && delayUntil(g, dx, withoutUndefined(others)), ...others];
    },
  });
  return y;
}

/**
 * Computes `build(x, targets)` in `count` chunks of neighboring rows, one after the other, forward
 * and backward, so that memory holds the inner values of only one chunk at a time. Each row of the
 * result must depend only on the same row of x and targets.
 * @param x float [rows, width], at least `2 * count` rows: a matrix product of one row uses another
 *   kernel
 * @param targets int [rows, 1]
 */
export function computeInChunks(
  g: Graph,
  count: number,
  x: Value,
  targets: Value,
  build: (x: Value, targets: Value) => Value,
): Value {
  const start = g.nodes.length;
  const lengths = chunkLengths(g, x, count);
  const targetParts = splitRows(g, targets, lengths, count);
  const chunks = splitRows(g, x, lengths, count).flatMap((rows, index) => {
    const own = targetParts[index];
    return own === undefined ? [] : [{ rows, build: (part: Value): Value => build(part, own) }];
  });
  const results: Value[] = [];
  let outside: readonly Value[] = [];
  for (const chunk of chunks) {
    const piece = buildOpaquePiece(g, delayUntil(g, chunk.rows, results.slice(-1)), chunk.build);
    results.push(piece.y);
    outside = piece.outside;
  }
  const y = joinRows(g, results, x);
  g.nodes.length = start;
  const inputs = [x, ...outside];
  g.nodes.push({
    inputs,
    outputs: [y],
    vjp: ([dy], wanted) => {
      if (dy === undefined) {
        return inputs.map(() => undefined);
      }
      const parts = splitRows(g, dy, lengths, count);
      const rows: Value[] = [];
      let sums: readonly (Value | undefined)[] = [];
      chunks.forEach((chunk, index) => {
        const part = parts[index];
        if (part === undefined) {
          return;
        }
        const turn = delayUntil(g, chunk.rows, [part, ...rows.slice(-1), ...withoutUndefined(sums)]);
        const [dx, ...others] = rebuildGradients(g, turn, chunk.build, part, outside, wanted);
        if (dx !== undefined) {
          rows.push(dx);
        }
        sums = others.map((own, place) => {
          const known = sums[place];
          return own === undefined || known === undefined ? own : add(g, known, own);
        });
      });
      return [rows.length === 0 ? undefined : delayUntil(g, joinRows(g, rows, x), withoutUndefined(sums)), ...sums];
    },
  });
  return y;
}

/**
 * Builds a piece that autodiff treats as one node.
 * @returns its result, and the float values other than x that it reads from outside
 */
function buildOpaquePiece(g: Graph, x: Value, build: Build): { readonly y: Value; readonly outside: readonly Value[] } {
  const start = g.nodes.length;
  const y = build(x);
  const nodes = g.nodes.splice(start);
  const made = new Set([x, ...nodes.flatMap(({ outputs }) => outputs)].map(({ name }) => name));
  const read = nodes.flatMap(({ inputs }) => inputs).filter(({ name, dtype }) => dtype === g.float && !made.has(name));
  return { y, outside: [...new Map(read.map((value) => [value.name, value])).values()] };
}

/** Builds a piece again and returns the wanted cotangents of x and of the outside values. */
function rebuildGradients(
  g: Graph,
  x: Value,
  build: Build,
  dy: Value,
  outside: readonly Value[],
  wanted: readonly boolean[],
): readonly (Value | undefined)[] {
  const start = g.nodes.length;
  const y = build(x);
  const inputs = [x, ...outside];
  const asked = inputs.filter((_, index) => wanted[index]);
  const found = pullback(g, g.nodes.slice(start), y, dy, asked);
  const byName = new Map(asked.map(({ name }, index) => [name, found[index]]));
  return inputs.map(({ name }) => byName.get(name));
}

/**
 * Returns x, bit for bit, but only after the others are computed: subtracts a zero made from one
 * element of each. (Adding the zero would turn -0 into 0, and a product with 0 would pass on a NaN or
 * an infinity.)
 */
function delayUntil(g: Graph, x: Value, others: readonly Value[]): Value {
  const zero = (other: Value): Value => cast(g, lessOrEqual(g, abs(g, firstElement(g, other)), g.scalar(-1)), g.float);
  return others.reduce((value, other) => sub(g, value, zero(other)), x);
}

/** Returns the first element of x, with shape [1]. */
function firstElement(g: Graph, x: Value): Value {
  const [from, to] = [x.shape.map(() => 0), x.shape.map(() => 1)];
  return reshape(g, g.apply({ op: 'Slice', inputs: [x, g.ints(from), g.ints(to)], dtype: x.dtype, shape: to }), [1]);
}

/** Returns the lengths of the chunks, int64 [count], which differ by at most one. */
function chunkLengths(g: Graph, x: Value, count: number): Value {
  const whole = (op: string, a: Value, b: Value, length: number): Value =>
    g.apply({ op, inputs: [a, b], dtype: 'int64', shape: [length] });
  const rows = g.apply({ op: 'Shape', inputs: [x], attributes: { start: 0, end: 1 }, dtype: 'int64', shape: [1] });
  const ends = (first: number): Value => {
    const ordinals = Array.from({ length: count }, (_, index) => first + index);
    return whole('Div', whole('Mul', rows, g.ints(ordinals), count), g.ints([count]), count);
  };
  return whole('Sub', ends(1), ends(0), count);
}

/** Splits x into chunks of rows. All splits of one graph have the same lengths. */
const splitRows = (g: Graph, x: Value, lengths: Value, count: number): readonly Value[] =>
  g.node({
    op: 'Split',
    inputs: [x, lengths],
    attributes: { axis: 0 },
    outputs: Array.from({ length: count }, (_, index) => ({
      dtype: x.dtype,
      shape: [`chunk ${index}`, ...x.shape.slice(1)],
    })),
  });

const joinRows = (g: Graph, parts: readonly Value[], like: Value): Value =>
  g.apply({
    op: 'Concat',
    inputs: parts,
    attributes: { axis: 0 },
    dtype: like.dtype,
    shape: [like.shape[0] ?? 1, ...(parts[0]?.shape.slice(1) ?? [])],
  });

const withoutUndefined = (values: readonly (Value | undefined)[]): readonly Value[] =>
  values.flatMap((value) => value ?? []);

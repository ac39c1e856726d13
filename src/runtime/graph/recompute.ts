/**
 * Pieces of a graph whose inner values are computed again in the backward pass instead of kept for it (Chen et al.
 * 2016, Training Deep Nets with Sublinear Memory Cost). ONNX Runtime computes equal nodes once and orders nodes as it
 * likes, so what is built again is based on a value of its own, which is there only when its turn has come.
 */
import { pullback } from './autodiff.ts';
import type { Graph, Value } from './graph.ts';
import { abs, add, cast, lessOrEqual, sub } from './ops/elementwise.ts';
import { reshape } from './ops/shape.ts';

/** A part of the graph from one value to another; what else it reads it takes from outside. */
type Build = (x: Value) => Value;

/** What `build(x)` gives. The backward pass builds it again, and has done with it before it continues. */
export function recomputed(g: Graph, x: Value, build: Build): Value {
  const { y, outside } = asOne(g, x, build);
  const inputs = [x, ...outside];
  g.nodes.push({
    inputs,
    outputs: [y],
    vjp: ([dy], wanted) => {
      if (dy === undefined) {
        return inputs.map(() => undefined);
      }
      const [dx, ...others] = gradientsAgain(g, after(g, x, [dy]), build, dy, outside, wanted);
      return [dx && after(g, dx, present(others)), ...others];
    },
  });
  return y;
}

/**
 * `build(x, targets)` in `count` runs of neighbouring rows, one after the other, forward and backward, so that only one
 * run's inner values are there at a time. A row of what it gives must depend on the same row of x and targets alone.
 * @param x float [rows, width], at least `2 * count` rows: a matrix product of one row takes another kernel
 * @param targets int [rows, 1]
 */
export function inChunks(
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
    const piece = asOne(g, after(g, chunk.rows, results.slice(-1)), chunk.build);
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
        const turn = after(g, chunk.rows, [part, ...rows.slice(-1), ...present(sums)]);
        const [dx, ...others] = gradientsAgain(g, turn, chunk.build, part, outside, wanted);
        if (dx !== undefined) {
          rows.push(dx);
        }
        sums = others.map((own, place) => {
          const known = sums[place];
          return own === undefined || known === undefined ? own : add(g, known, own);
        });
      });
      return [rows.length === 0 ? undefined : after(g, joinRows(g, rows, x), present(sums)), ...sums];
    },
  });
  return y;
}

/** Builds a piece that autodiff does not look into. @returns what it gives, and the numbers that it reads beside x */
function asOne(g: Graph, x: Value, build: Build): { readonly y: Value; readonly outside: readonly Value[] } {
  const start = g.nodes.length;
  const y = build(x);
  const nodes = g.nodes.splice(start);
  const made = new Set([x, ...nodes.flatMap(({ outputs }) => outputs)].map(({ name }) => name));
  const read = nodes.flatMap(({ inputs }) => inputs).filter(({ name, dtype }) => dtype === g.float && !made.has(name));
  return { y, outside: [...new Map(read.map((value) => [value.name, value])).values()] };
}

/**
 * Builds a piece again and differentiates it: the cotangents of x and of what it reads outside, those that are wanted.
 */
function gradientsAgain(
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
 * x, bit for bit, but not before the others are computed: minus a zero made of one element of each. (Plus would turn -0
 * into 0; a product with 0 would pass on what is no number.)
 */
function after(g: Graph, x: Value, others: readonly Value[]): Value {
  const zero = (other: Value): Value => cast(g, lessOrEqual(g, abs(g, firstElement(g, other)), g.scalar(-1)), g.float);
  return others.reduce((value, other) => sub(g, value, zero(other)), x);
}

/** [1]. */
function firstElement(g: Graph, x: Value): Value {
  const [from, to] = [x.shape.map(() => 0), x.shape.map(() => 1)];
  return reshape(g, g.apply({ op: 'Slice', inputs: [x, g.ints(from), g.ints(to)], dtype: x.dtype, shape: to }), [1]);
}

/** int64 [count]: as even as can be. */
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

/** Runs of rows; chunks of one graph have the same lengths. */
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

const present = (values: readonly (Value | undefined)[]): readonly Value[] => values.flatMap((value) => value ?? []);

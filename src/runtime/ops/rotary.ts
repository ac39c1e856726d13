/** Rotary positions (Su et al. 2021, RoFormer), pairs (x_i, x_{i + width/2}) as in Hugging Face checkpoints. */
import type { Graph, Value, Vjp } from '../graph.ts';
import { reshapeLike } from './broadcast.ts';
import { add, mul, neg, sub } from './elementwise.ts';
import { gatherRows } from './gather.ts';
import { concat, reshape, slice } from './shape.ts';

/** cos and sin of position * theta^(-2i/width), [positions, width / 2]. */
export interface RotaryTables {
  readonly cos: Value;
  readonly sin: Value;
}

export function rotaryTables(g: Graph, positions: number, width: number, theta: number): RotaryTables {
  const half = width / 2;
  const angles = Array.from({ length: positions * half }, (_, index) => Math.floor(index / half) * theta ** (-(index % half) / half));
  return { cos: g.floats(angles.map(Math.cos), [positions, half]), sin: g.floats(angles.map(Math.sin), [positions, half]) };
}

/**
 * Rotates every head of x [...tokens, heads * width] by its token's position.
 * @param positions int64 [tokens, 1], the tokens in the order of x
 */
export function rotate(g: Graph, x: Value, positions: Value, tables: RotaryTables): Value {
  // One token per row: the operator refuses rows longer than its tables, and packed rows may be.
  const rows = reshape(g, x, [positions.shape[0] ?? 1, 1, x.shape.at(-1) ?? 1]);
  return reshapeLike(g, g.float === 'float64' ? rotateByParts(g, rows, positions, tables) : rotateRows(g, rows, positions, tables), x);
}

function rotateRows(g: Graph, rows: Value, positions: Value, { cos, sin }: RotaryTables): Value {
  const apply = (x: Value, sine: Value, vjp?: Vjp): Value =>
    g.apply({ op: 'RotaryEmbedding', domain: 'com.microsoft', inputs: [x, positions, cos, sine], dtype: x.dtype, shape: x.shape, ...(vjp && { vjp }) });
  // The gradient turns back.
  return apply(rows, sin, ([dy]) => [dy && apply(dy, neg(g, sin))]);
}

/** The same from ordinary operators, for element types that the operator does not take. */
function rotateByParts(g: Graph, x: Value, positions: Value, tables: RotaryTables): Value {
  const half = Number(tables.cos.shape[1]);
  const heads = Number(x.shape[2]) / (2 * half);
  const cos = gatherRows(g, tables.cos, positions);
  const sin = gatherRows(g, tables.sin, positions);
  const split = reshape(g, x, [x.shape[0] ?? 1, heads, 2 * half]);
  const first = slice(g, split, 2, 0, half);
  const second = slice(g, split, 2, half, 2 * half);
  const turned = concat(g, [sub(g, mul(g, first, cos), mul(g, second, sin)), add(g, mul(g, second, cos), mul(g, first, sin))], 2);
  return reshape(g, turned, x.shape);
}

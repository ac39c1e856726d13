/** Rotary positions (Su et al. 2021, RoFormer), pairs (x_i, x_{i + width/2}) as in Hugging Face checkpoints. */
import type { Graph, Value, Vjp } from '../graph/graph.ts';
import { reshapeLike } from '../graph/ops/broadcast.ts';
import { add, mul, neg, sub } from '../graph/ops/elementwise.ts';
import { gatherRows } from '../graph/ops/gather.ts';
import { concat, reshape, slice } from '../graph/ops/shape.ts';
import type { RopeScaling } from './transformer.ts';

/** cos and sin of position * scaled(theta^(-2i/width)), [positions, width / 2]. */
export interface RotaryTables {
  readonly cos: Value;
  readonly sin: Value;
}

/** A frequency in radians per position as a scaling changes it. */
export type FrequencyScale = (frequency: number) => number;

export function rotaryTables(
  g: Graph,
  positions: number,
  width: number,
  theta: number,
  scaled: FrequencyScale = (frequency) => frequency,
): RotaryTables {
  const half = width / 2;
  const frequencies = Array.from({ length: half }, (_, index) => scaled(theta ** (-index / half)));
  const make = (): Float32Array | Float64Array =>
    g.float === 'float32' ? new Float32Array(positions * half) : new Float64Array(positions * half);
  const [cos, sin] = [make(), make()];
  for (let position = 0, at = 0; position < positions; position++) {
    for (let index = 0; index < half; index++, at++) {
      const angle = position * (frequencies[index] ?? 0);
      cos[at] = Math.cos(angle);
      sin[at] = Math.sin(angle);
    }
  }
  return { cos: g.floats(cos, [positions, half]), sin: g.floats(sin, [positions, half]) };
}

/**
 * How a scaling changes frequencies. `llama3` keeps wavelengths up to original / high, divides those from original /
 * low on by the factor, and goes between them linearly in original / wavelength (Transformers, modeling_rope_utils,
 * _compute_llama3_parameters).
 */
export function scaledFrequency(scaling: RopeScaling | undefined): FrequencyScale {
  if (scaling === undefined) {
    return (frequency) => frequency;
  }
  const { factor } = scaling;
  if (scaling.type === 'linear') {
    return (frequency) => frequency / factor;
  }
  const { lowFrequencyFactor: low, highFrequencyFactor: high, originalMaxPositions } = scaling;
  return (frequency) => {
    const turns = (originalMaxPositions * frequency) / (2 * Math.PI);
    const kept = Math.min(1, Math.max(0, (turns - low) / (high - low)));
    return kept * frequency + ((1 - kept) * frequency) / factor;
  };
}

/**
 * Rotates every head of x [...tokens, heads * width] by its token's position.
 * @param positions int64 [tokens, 1], the tokens in the order of x
 */
export function rotate(g: Graph, x: Value, positions: Value, tables: RotaryTables): Value {
  // One token per row: the operator refuses rows longer than its tables, and packed rows may be.
  const rows = reshape(g, x, [positions.shape[0] ?? 1, 1, x.shape.at(-1) ?? 1]);
  return reshapeLike(
    g,
    g.float === 'float64' ? rotateByParts(g, rows, positions, tables) : rotateRows(g, rows, positions, tables),
    x,
  );
}

function rotateRows(g: Graph, rows: Value, positions: Value, { cos, sin }: RotaryTables): Value {
  const apply = (x: Value, sine: Value, vjp?: Vjp): Value =>
    g.apply({
      op: 'RotaryEmbedding',
      domain: 'com.microsoft',
      inputs: [x, positions, cos, sine],
      dtype: x.dtype,
      shape: x.shape,
      ...(vjp && { vjp }),
    });
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
  const turned = concat(
    g,
    [sub(g, mul(g, first, cos), mul(g, second, sin)), add(g, mul(g, second, cos), mul(g, first, sin))],
    2,
  );
  return reshape(g, turned, x.shape);
}

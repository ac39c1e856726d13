/**
 * The layers of the decoder as graph pieces: RMSNorm, optional biases and head norms, rotary positions
 * (half-split), grouped-query attention, SwiGLU.
 */

import type { Dim, Graph, Value, Vjp } from '../graph/graph.ts';
import { attention, type AttentionInputs, type AttentionMask } from '../graph/ops/attention.ts';
import { reshapeLike } from '../graph/ops/broadcast.ts';
import { add, cast, mul, swiglu, neg, sub } from '../graph/ops/elementwise.ts';
import { gatherRows } from '../graph/ops/gather.ts';
import { linear } from '../graph/ops/linear.ts';
import { rmsNorm } from '../graph/ops/normalise.ts';
import { reshape, slice, split, transpose, concat } from '../graph/ops/shape.ts';
import { recomputeBackward } from '../graph/recompute.ts';
import {
  EMBEDDING,
  FINAL_NORM,
  headName,
  layerWeights,
  requireParameter,
  type AdapterModule,
  type LayerPart,
  type LayerWeights,
  type Parameters,
  type TransformerConfig,
  type RopeScaling,
} from './transformer.ts';

/** Queries, keys and values of one layer, [rows, heads, time, width]. */
export interface Projections {
  readonly queries: Value;
  readonly keys: Value;
  readonly values: Value;
}

/**
 * The inputs of attention except the queries: keys and values [rows, key-value heads, slots, width],
 * mask and ones as in `attention`.
 */
export type Attended = Omit<AttentionInputs, 'queries'>;

export interface ForwardInputs {
  /** int32 [rows, time]. */
  readonly tokens: Value;
  /** int64 [rows * time, 1]: rotary positions. */
  readonly positions: Value;
  /** [rows, 1, time, time]. */
  readonly mask: AttentionMask;
  /** Ones, [time, 2]. */
  readonly ones: Value;
}

export interface ForwardOutputs {
  /** [rows, time, hidden], before the final normalization. */
  readonly hidden: Value;
  readonly projections: readonly Projections[];
}

/**
 * Builds the decoder stack over whole rows.
 * @param recompute true if a backward pass computes each layer again; the result then has no
 *   projections
 */
export function forward(
  g: Graph,
  config: TransformerConfig,
  parameters: Parameters,
  inputs: ForwardInputs,
  recompute = false,
): ForwardOutputs {
  const projections: Projections[] = [];
  const tables = buildRotaryTables(g, config);
  const mask = {
    bias: repeatForGroups(g, config, inputs.mask.bias),
    visible: repeatForGroups(g, config, inputs.mask.visible),
  };
  let hidden = embed(g, parameters, inputs.tokens);
  for (let layer = 0; layer < config.layers; layer++) {
    const weights = layerWeights(parameters, layer);
    const through = (x: Value): { readonly projected: Projections; readonly output: Value } => {
      const projected = project(g, config, weights, x, inputs.positions, tables);
      return {
        projected,
        output: layerOutput(g, config, weights, x, projected.queries, {
          keys: projected.keys,
          values: projected.values,
          mask,
          ones: inputs.ones,
        }),
      };
    };
    if (recompute) {
      hidden = recomputeBackward(g, hidden, (x) => through(x).output);
      continue;
    }
    const { projected, output } = through(hidden);
    projections.push(projected);
    hidden = output;
  }
  return { hidden, projections };
}

export const buildRotaryTables = (g: Graph, config: TransformerConfig): RotaryTables =>
  rotaryTables(g, config.maxPositions, config.headDim, config.ropeTheta, makeFrequencyScale(config.ropeScaling));

/** Builds the token embeddings, [...tokens, hidden]. */
export const embed = (g: Graph, parameters: Parameters, tokens: Value): Value =>
  widenHalves(g, gatherRows(g, requireParameter(parameters, EMBEDDING), tokens));

/** Converts float16 to the graph's float type. Other types stay. */
const widenHalves = (g: Graph, x: Value): Value => (x.dtype === 'float16' ? cast(g, x, g.float) : x);

/**
 * Projects the normalized input of a layer to queries, keys and values. Queries and keys are rotated,
 * after their heads are normalized if the family does so. hidden [rows, time, hidden], positions int64
 * [rows * time, 1].
 */
export function project(
  g: Graph,
  config: TransformerConfig,
  weights: LayerWeights,
  hidden: Value,
  positions: Value,
  tables: RotaryTables,
): Projections {
  const normed = rmsNorm(g, hidden, weights('input_layernorm'), config.rmsEpsilon);
  const { heads, keyValueHeads, headDim } = config;
  const headNorm = (x: Value, part: LayerPart): Value =>
    config.queryKeyNorm === true ? normalizeHeads(g, x, weights(part), config.rmsEpsilon) : x;
  const turn = (x: Value, part: LayerPart): Value => rotate(g, headNorm(x, part), positions, tables);
  const adapted = (x: Value, module: 'q_proj' | 'k_proj' | 'v_proj'): Value =>
    addLowRankTerm(g, config, weights, `self_attn.${module}`, normed, x);
  const product = linear(g, normed, weights('self_attn.qkv_proj'));
  const projected = config.attentionBias === true ? add(g, product, weights('self_attn.qkv_proj.bias')) : product;
  const [queries, keys, values] = split(g, projected, 2, [
    heads * headDim,
    keyValueHeads * headDim,
    keyValueHeads * headDim,
  ]);
  if (queries === undefined || keys === undefined || values === undefined) {
    throw new Error('The split returned fewer than three parts.');
  }
  return {
    queries: splitHeads(g, turn(adapted(queries, 'q_proj'), 'self_attn.q_norm'), heads, headDim),
    keys: splitHeads(g, turn(adapted(keys, 'k_proj'), 'self_attn.k_norm'), keyValueHeads, headDim),
    values: splitHeads(g, adapted(values, 'v_proj'), keyValueHeads, headDim),
  };
}

/** Builds the output of a layer: attention, then the gated unit, each added to its input. */
export function layerOutput(
  g: Graph,
  config: TransformerConfig,
  weights: LayerWeights,
  hidden: Value,
  queries: Value,
  attended: Attended,
): Value {
  const product = (x: Value, matrix: AdaptedPart): Value =>
    addLowRankTerm(g, config, weights, matrix, x, linear(g, x, weights(matrix)));
  const between = add(g, hidden, product(groupedAttention(g, config, queries, attended), 'self_attn.o_proj'));
  const normed = rmsNorm(g, between, weights('post_attention_layernorm'), config.rmsEpsilon);
  const gated = swiglu(g, product(normed, 'mlp.gate_proj'), product(normed, 'mlp.up_proj'));
  return add(g, between, product(gated, 'mlp.down_proj'));
}

/**
 * The matrices that can have low-rank factors, as parts of a layer. Queries, keys and values are one
 * joined matrix, but their factors are separate.
 */
type AdaptedPart = Extract<LayerPart, `${string}.${'o_proj' | 'gate_proj' | 'up_proj' | 'down_proj'}`>;
type AdaptedPlace = AdaptedPart | `self_attn.${'q_proj' | 'k_proj' | 'v_proj'}`;

/**
 * Adds the term of the low-rank factors to x W^T: (alpha / rank) x A^T B^T.
 * @param product x W^T
 */
function addLowRankTerm(
  g: Graph,
  { adapter }: TransformerConfig,
  weights: LayerWeights,
  place: AdaptedPlace,
  x: Value,
  product: Value,
): Value {
  if (adapter === undefined || !adapter.targetModules.includes(MODULES[place])) {
    return product;
  }
  const inner = mul(g, linear(g, x, weights(`${place}.lora_A`)), g.scalar(adapter.alpha / adapter.rank));
  return add(g, product, linear(g, inner, weights(`${place}.lora_B`)));
}

const MODULES: Readonly<Record<AdaptedPlace, AdapterModule>> = {
  'self_attn.q_proj': 'q_proj',
  'self_attn.k_proj': 'k_proj',
  'self_attn.v_proj': 'v_proj',
  'self_attn.o_proj': 'o_proj',
  'mlp.gate_proj': 'gate_proj',
  'mlp.up_proj': 'up_proj',
  'mlp.down_proj': 'down_proj',
};

/** Builds the logits of hidden states [rows, hidden]: final normalization, then the output projection. */
export function logits(g: Graph, config: TransformerConfig, parameters: Parameters, hidden: Value): Value {
  const head = requireParameter(parameters, headName(config));
  return linear(
    g,
    rmsNorm(g, hidden, requireParameter(parameters, FINAL_NORM), config.rmsEpsilon),
    config.halves === 'widened' ? widenHalves(g, head) : head,
  );
}

/** Applies RMSNorm to every head of [rows, time, heads * width], weight [width]. */
function normalizeHeads(g: Graph, x: Value, weight: Value, epsilon: number): Value {
  const [rows, time] = leading(x);
  const width = Number(weight.shape[0]);
  const heads = Number(x.shape[2]) / width;
  return reshape(g, rmsNorm(g, reshape(g, x, [rows, time, heads, width]), weight, epsilon), [
    rows,
    time,
    heads * width,
  ]);
}

/** Reorders [rows, time, heads * width] to [rows, heads, time, width]. */
function splitHeads(g: Graph, x: Value, heads: number, width: number): Value {
  const [rows, time] = leading(x);
  // With one token, the order of the elements is the same.
  if (time === 1) {
    return reshape(g, x, [rows, heads, 1, width]);
  }
  return transpose(g, reshape(g, x, [rows, time, heads, width]), [0, 2, 1, 3]);
}

/**
 * Grouped-query attention, [rows, time, heads * width]. The query heads of one key-value head
 * become extra query rows of one matrix product. A single query row would use another kernel than
 * several rows, so it is duplicated: decoding then gives the bits of prefill and training.
 * @param attended its mask is [rows, 1, group * time (or 1), slots]
 */
function groupedAttention(g: Graph, config: TransformerConfig, queries: Value, attended: Attended): Value {
  const { heads, keyValueHeads, headDim } = config;
  const [rows] = leading(queries);
  const time = queries.shape[2] ?? 1;
  const grouped = reshape(g, queries, [rows, keyValueHeads, multiplyDim(time, heads / keyValueHeads), headDim]);
  if (time === 1 && heads === keyValueHeads) {
    const twice = g.apply({
      op: 'Concat',
      inputs: [grouped, grouped],
      attributes: { axis: 2 },
      dtype: grouped.dtype,
      shape: [rows, heads, 2, headDim],
    });
    return reshape(g, slice(g, attention(g, { ...attended, queries: twice }), 2, 0, 1), [rows, 1, heads * headDim]);
  }
  const mixed = attention(g, { ...attended, queries: grouped });
  if (time === 1) {
    return reshape(g, mixed, [rows, 1, heads * headDim]);
  }
  return reshape(g, transpose(g, reshape(g, mixed, [rows, heads, time, headDim]), [0, 2, 1, 3]), [
    rows,
    time,
    heads * headDim,
  ]);
}

/**
 * Repeats a mask [rows, 1, time, slots] for every query head of a group. In decoding (time 1) it
 * broadcasts instead.
 */
function repeatForGroups(g: Graph, config: TransformerConfig, mask: Value): Value {
  const group = config.heads / config.keyValueHeads;
  const [rows] = leading(mask);
  const time = mask.shape[2] ?? 1;
  if (time === 1 || group === 1) {
    return mask;
  }
  return g.apply({
    op: 'Concat',
    inputs: Array.from({ length: group }, () => mask),
    attributes: { axis: 2 },
    dtype: mask.dtype,
    shape: [rows, 1, multiplyDim(time, group), mask.shape[3] ?? 1],
  });
}

function multiplyDim(dim: Dim, factor: number): Dim {
  if (factor === 1) {
    return dim;
  }
  return typeof dim === 'number' ? dim * factor : `${factor}*${dim}`;
}

function leading(x: Value): readonly [Dim, Dim] {
  return [x.shape[0] ?? 1, x.shape[1] ?? 1];
}

// Rotary positions (Su et al. 2021, RoFormer), with pairs (x_i, x_{i + width/2}) as in Hugging Face
// checkpoints.

/** cos and sin of position * scaled(theta^(-2i/width)), [positions, width / 2]. */
interface RotaryTables {
  readonly cos: Value;
  readonly sin: Value;
}

/** Scales a frequency, in radians per position. */
type FrequencyScale = (frequency: number) => number;

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
 * Returns the frequency change of a scaling. `llama3` keeps wavelengths up to original / high, divides
 * those from original / low on by the factor, and interpolates between them linearly in original /
 * wavelength (Transformers, modeling_rope_utils, _compute_llama3_parameters).
 */
function makeFrequencyScale(scaling: RopeScaling | undefined): FrequencyScale {
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
 * Rotates every head of x [...tokens, heads * width] by the position of its token.
 * @param positions int64 [tokens, 1], in the token order of x
 */
export function rotate(g: Graph, x: Value, positions: Value, tables: RotaryTables): Value {
  // One token per row: the operator refuses rows that are longer than its tables, and packed rows may
  // be.
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
  // The gradient is the opposite rotation.
  return apply(rows, sin, ([dy]) => [dy && apply(dy, neg(g, sin))]);
}

/** Does the same with ordinary operators, for types that RotaryEmbedding does not take. */
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

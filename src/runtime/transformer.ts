/**
 * A decoder-only transformer of the Llama family: RMSNorm, rotary positions (half-split), grouped-query attention, SwiGLU.
 * Parameter names and layouts are those of Hugging Face checkpoints: a linear weight is [out, in].
 */
import { C3Error } from '../shared/errors.ts';
import type { Dim, Graph, Value } from './graph.ts';
import { add, mul, silu, sub } from './ops/elementwise.ts';
import { gatherRows } from './ops/gather.ts';
import { matmul, swapLast } from './ops/linear.ts';
import { rmsNorm, softmax } from './ops/normalise.ts';
import { concat, reshape, slice, transpose, unsqueeze } from './ops/shape.ts';

export interface TransformerConfig {
  readonly vocabularySize: number;
  readonly hiddenSize: number;
  readonly intermediateSize: number;
  readonly layers: number;
  readonly heads: number;
  readonly keyValueHeads: number;
  readonly headDim: number;
  readonly rmsEpsilon: number;
  readonly ropeTheta: number;
  readonly maxPositions: number;
  readonly tieEmbeddings: boolean;
}

/** @throws C3Error('input') when a token id lies outside the vocabulary: the tokenizer belongs to another model */
export function checkTokens({ vocabularySize }: TransformerConfig, tokens: Int32Array, place: string): void {
  const unknown = tokens.find((token) => token < 0 || token >= vocabularySize);
  if (unknown === undefined) return;
  throw new C3Error('input', `${place} has the token id ${String(unknown)} where the model knows ${String(vocabularySize)} tokens; use the model's own tokenizer.`);
}

export interface ParameterSpec {
  readonly name: string;
  readonly shape: readonly number[];
}

/** Every parameter of the architecture, in checkpoint order. */
export function parameterSpecs(config: TransformerConfig): readonly ParameterSpec[] {
  const { hiddenSize, intermediateSize, headDim } = config;
  const queries = config.heads * headDim;
  const keys = config.keyValueHeads * headDim;
  const specs: ParameterSpec[] = [{ name: 'model.embed_tokens.weight', shape: [config.vocabularySize, hiddenSize] }];
  for (let layer = 0; layer < config.layers; layer++) {
    const prefix = `model.layers.${String(layer)}`;
    specs.push(
      { name: `${prefix}.input_layernorm.weight`, shape: [hiddenSize] },
      { name: `${prefix}.self_attn.q_proj.weight`, shape: [queries, hiddenSize] },
      { name: `${prefix}.self_attn.k_proj.weight`, shape: [keys, hiddenSize] },
      { name: `${prefix}.self_attn.v_proj.weight`, shape: [keys, hiddenSize] },
      { name: `${prefix}.self_attn.o_proj.weight`, shape: [hiddenSize, queries] },
      { name: `${prefix}.post_attention_layernorm.weight`, shape: [hiddenSize] },
      { name: `${prefix}.mlp.gate_proj.weight`, shape: [intermediateSize, hiddenSize] },
      { name: `${prefix}.mlp.up_proj.weight`, shape: [intermediateSize, hiddenSize] },
      { name: `${prefix}.mlp.down_proj.weight`, shape: [hiddenSize, intermediateSize] },
    );
  }
  specs.push({ name: 'model.norm.weight', shape: [hiddenSize] });
  if (!config.tieEmbeddings) specs.push({ name: 'lm_head.weight', shape: [config.vocabularySize, hiddenSize] });
  return specs;
}

/**
 * The parameters as graphs take them: in checkpoint order, but each layer's q_proj, k_proj and v_proj as one matrix `qkv_proj`. The three are
 * neighbours in checkpoint order, so the joined matrix is a view of the same numbers.
 */
export function graphParameterSpecs(config: TransformerConfig): readonly ParameterSpec[] {
  const joined = (config.heads + 2 * config.keyValueHeads) * config.headDim;
  return parameterSpecs(config).flatMap(({ name, shape }) => {
    if (/[kv]_proj\.weight$/.test(name)) return [];
    return name.endsWith('q_proj.weight') ? [{ name: name.replace('q_proj', 'qkv_proj'), shape: [joined, config.hiddenSize] }] : [{ name, shape }];
  });
}

export type Parameters = ReadonlyMap<string, Value>;

/** Declares the parameters as graph inputs. Graphs that must agree bit for bit all take their weights as inputs. */
export function parameterInputs(g: Graph, config: TransformerConfig): Parameters {
  return new Map(graphParameterSpecs(config).map(({ name, shape }) => [name, g.floatInput(name, shape)]));
}

/** The keys and values of one layer, [rows, key-value heads, slots, head width]. */
export interface LayerKeyValues {
  readonly keys: Value;
  readonly values: Value;
}

/** What one forward pass reads beside the weights. */
export interface ForwardInputs {
  /** int64 [rows, time]. */
  readonly tokens: Value;
  /** int64 [rows, time]: rotary positions. */
  readonly positions: Value;
  /** Added to the attention scores: 0 where a slot is visible, -1e9 where not; [rows, 1, time, slots]. */
  readonly bias: Value;
  /** Maps a layer's fresh keys and values to those that are attended to; the identity where there is no cache. */
  readonly extend?: (layer: number, fresh: LayerKeyValues) => LayerKeyValues;
}

export interface ForwardOutputs {
  /** [rows, time, hidden], before the final normalisation. */
  readonly hidden: Value;
  /** The keys and values that this pass computed for its own tokens. */
  readonly fresh: readonly LayerKeyValues[];
}

/** The decoder stack. Named dimensions: `rows` and `time` as in the inputs given. */
export function forward(g: Graph, config: TransformerConfig, parameters: Parameters, inputs: ForwardInputs): ForwardOutputs {
  const weight = (name: string): Value => {
    const value = parameters.get(name);
    if (value === undefined) throw new Error(`The graph has no parameter ${name}.`);
    return value;
  };
  const linear = (x: Value, name: string): Value => matmul(g, x, swapLast(g, weight(name)));
  const rotation = rotaryTables(g, config, inputs.positions);
  const bias = biasForGroups(g, config, inputs.bias);
  /** Heads that carry rotary positions: queries and keys. */
  const turned = config.heads + config.keyValueHeads;
  const fresh: LayerKeyValues[] = [];
  let hidden = gatherRows(g, weight('model.embed_tokens.weight'), inputs.tokens);
  for (let layer = 0; layer < config.layers; layer++) {
    const prefix = `model.layers.${String(layer)}`;
    const normed = rmsNorm(g, hidden, weight(`${prefix}.input_layernorm.weight`), config.rmsEpsilon);
    const projected = splitHeads(g, linear(normed, `${prefix}.self_attn.qkv_proj.weight`), turned + config.keyValueHeads, config.headDim);
    const rotated = rotate(g, slice(g, projected, 1, 0, turned), rotation);
    const queries = slice(g, rotated, 1, 0, config.heads);
    const own: LayerKeyValues = {
      keys: slice(g, rotated, 1, config.heads, turned),
      values: slice(g, projected, 1, turned, turned + config.keyValueHeads),
    };
    fresh.push(own);
    const attended = attention(g, config, queries, inputs.extend?.(layer, own) ?? own, bias);
    hidden = add(g, hidden, linear(attended, `${prefix}.self_attn.o_proj.weight`));
    const mlpInput = rmsNorm(g, hidden, weight(`${prefix}.post_attention_layernorm.weight`), config.rmsEpsilon);
    const gated = mul(g, silu(g, linear(mlpInput, `${prefix}.mlp.gate_proj.weight`)), linear(mlpInput, `${prefix}.mlp.up_proj.weight`));
    hidden = add(g, hidden, linear(gated, `${prefix}.mlp.down_proj.weight`));
  }
  return { hidden, fresh };
}

/** Logits of hidden states of any leading shape: final normalisation, then the output projection. */
export function logits(g: Graph, config: TransformerConfig, parameters: Parameters, hidden: Value): Value {
  const norm = parameters.get('model.norm.weight');
  const head = parameters.get(config.tieEmbeddings ? 'model.embed_tokens.weight' : 'lm_head.weight');
  if (norm === undefined || head === undefined) throw new Error('The graph lacks the final normalisation or the output projection.');
  return matmul(g, rmsNorm(g, hidden, norm, config.rmsEpsilon), swapLast(g, head));
}

/** [rows, time, heads * width] to [rows, heads, time, width]. */
function splitHeads(g: Graph, x: Value, heads: number, width: number): Value {
  const [rows, time] = leading(x);
  return transpose(g, reshape(g, x, [rows, time, heads, width]), [0, 2, 1, 3]);
}

/**
 * Grouped-query attention. The query heads of one key-value head become extra query rows of one matrix product, so that decoding
 * one token still multiplies at least two rows where heads are grouped: the same kernel, hence the same bits, as in prefill and training.
 * @param bias [rows, 1, group * time (or 1), slots]
 */
function attention(g: Graph, config: TransformerConfig, queries: Value, { keys, values }: LayerKeyValues, bias: Value): Value {
  const { heads, keyValueHeads, headDim } = config;
  const [rows] = leading(queries);
  const time = queries.shape[2] ?? 1;
  const grouped = reshape(g, queries, [rows, keyValueHeads, times(time, heads / keyValueHeads), headDim]);
  const scores = matmul(g, mul(g, grouped, g.scalar(1 / Math.sqrt(headDim))), swapLast(g, keys));
  const mixed = matmul(g, softmax(g, add(g, scores, bias)), values);
  const perHead = reshape(g, mixed, [rows, heads, time, headDim]);
  return reshape(g, transpose(g, perHead, [0, 2, 1, 3]), [rows, time, heads * headDim]);
}

/** The bias [rows, 1, time, slots] repeated for every query head of a group; decoding (time 1) broadcasts instead. */
function biasForGroups(g: Graph, config: TransformerConfig, bias: Value): Value {
  const group = config.heads / config.keyValueHeads;
  const [rows] = leading(bias);
  const time = bias.shape[2] ?? 1;
  if (time === 1 || group === 1) return bias;
  return g.apply({
    op: 'Concat',
    inputs: Array.from({ length: group }, () => bias),
    attributes: { axis: 2 },
    dtype: bias.dtype,
    shape: [rows, 1, times(time, group), bias.shape[3] ?? 1],
  });
}

function times(dim: Dim, factor: number): Dim {
  if (factor === 1) return dim;
  return typeof dim === 'number' ? dim * factor : `${String(factor)}*${dim}`;
}

interface Rotation {
  readonly cos: Value;
  readonly sin: Value;
}

/** cos and sin of position * theta^(-2i/width), looked up in constant tables, [rows, 1, time, width / 2]. */
function rotaryTables(g: Graph, config: TransformerConfig, positions: Value): Rotation {
  const half = config.headDim / 2;
  const angles = Array.from({ length: config.maxPositions * half }, (_, index) => {
    const position = Math.floor(index / half);
    return position * config.ropeTheta ** (-(index % half) / half);
  });
  const table = (values: number[]): Value => unsqueeze(g, gatherRows(g, g.floats(values, [config.maxPositions, half]), positions), [1]);
  return { cos: table(angles.map(Math.cos)), sin: table(angles.map(Math.sin)) };
}

/** Rotates the pairs (x_i, x_{i + width/2}) of [rows, heads, time, width]. */
function rotate(g: Graph, x: Value, { cos, sin }: Rotation): Value {
  const width = Number(x.shape[3]);
  const first = slice(g, x, 3, 0, width / 2);
  const second = slice(g, x, 3, width / 2, width);
  return concat(g, [sub(g, mul(g, first, cos), mul(g, second, sin)), add(g, mul(g, second, cos), mul(g, first, sin))], 3);
}

function leading(x: Value): readonly [Dim, Dim] {
  return [x.shape[0] ?? 1, x.shape[1] ?? 1];
}

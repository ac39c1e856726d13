/**
 * A decoder-only transformer of the Llama, Qwen2 and Qwen3 families: its sizes, and its parameters
 * with the names and layouts of Hugging Face checkpoints (a linear weight is [out, in]).
 */

import { C3Error } from '../../shared/errors.ts';
import type { AdapterModule } from '../../shared/runNames.ts';
import type { Graph, Value } from '../graph/graph.ts';
import { cast } from '../graph/ops/elementwise.ts';

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
  /** True if queries, keys and values have a bias (Qwen2); default false. */
  readonly attentionBias?: boolean;
  /** True if each head of queries and keys is normalized before it is rotated (Qwen3); default false. */
  readonly queryKeyNorm?: boolean;
  /** Change of the rotary frequencies for long contexts; default none. */
  readonly ropeScaling?: RopeScaling;
  /**
   * The use of float16 weights. `widened` converts a matrix to float32 for each product (on the CPU,
   * which has no float16 products); `computed` computes products in float16 (on accelerators).
   * Everything else is float32. Undefined for float32 weights.
   */
  readonly halves?: 'widened' | 'computed';
  /** Low-rank factors of the matrices, which are not part of the checkpoint; default none. */
  readonly adapter?: AdapterSettings;
}

export { ADAPTER_MODULES, type AdapterModule } from '../../shared/runNames.ts';

/**
 * Low-rank adapters (LoRA, Hu et al. 2022, section 4.1): x W^T becomes x W^T + (alpha / rank) x A^T B^T with A [rank,
 * in] and B [out, rank].
 */
export interface AdapterSettings {
  readonly rank: number;
  readonly alpha: number;
  /** The adapted matrices of every layer, in any order. */
  readonly targetModules: readonly AdapterModule[];
}

/**
 * `linear` divides every frequency (Chen et al. 2023). `llama3` divides only the low ones (Llama 3.1),
 * which it finds by their wavelengths relative to the context of its training.
 */
export type RopeScaling =
  | { readonly type: 'linear'; readonly factor: number }
  | {
      readonly type: 'llama3';
      readonly factor: number;
      readonly lowFrequencyFactor: number;
      readonly highFrequencyFactor: number;
      readonly originalMaxPositions: number;
    };

/**
 * Checks the token ids of a text.
 * @throws C3Error('input') if a token id is outside the vocabulary: the tokenizer belongs to another
 *   model
 */
export function checkTokens({ vocabularySize }: TransformerConfig, tokens: Int32Array, place: string): void {
  const unknown = tokens.find((token) => token < 0 || token >= vocabularySize);
  if (unknown === undefined) {
    return;
  }
  throw new C3Error(
    'input',
    `${place} has the token id ${unknown} where the model knows ${vocabularySize} tokens; use the model's own tokenizer.`,
  );
}

/** Checkpoint names of the parameters outside the layers. */
export const EMBEDDING = 'model.embed_tokens.weight';
export const HEAD = 'lm_head.weight';
export const FINAL_NORM = 'model.norm.weight';
export const headName = ({ tieEmbeddings }: TransformerConfig): string => (tieEmbeddings ? EMBEDDING : HEAD);

export interface ParameterSpec {
  readonly name: string;
  readonly shape: readonly number[];
}

/** Lists every parameter of the architecture, in checkpoint order. */
export function parameterSpecs(config: TransformerConfig): readonly ParameterSpec[] {
  const { hiddenSize, intermediateSize, headDim } = config;
  const queries = config.heads * headDim;
  const keys = config.keyValueHeads * headDim;
  const specs: ParameterSpec[] = [{ name: EMBEDDING, shape: [config.vocabularySize, hiddenSize] }];
  for (let layer = 0; layer < config.layers; layer++) {
    const prefix = `model.layers.${layer}`;
    specs.push(
      { name: `${prefix}.input_layernorm.weight`, shape: [hiddenSize] },
      { name: `${prefix}.self_attn.q_proj.weight`, shape: [queries, hiddenSize] },
      { name: `${prefix}.self_attn.k_proj.weight`, shape: [keys, hiddenSize] },
      { name: `${prefix}.self_attn.v_proj.weight`, shape: [keys, hiddenSize] },
      ...(config.attentionBias === true
        ? [
            { name: `${prefix}.self_attn.q_proj.bias`, shape: [queries] },
            { name: `${prefix}.self_attn.k_proj.bias`, shape: [keys] },
            { name: `${prefix}.self_attn.v_proj.bias`, shape: [keys] },
          ]
        : []),
      ...(config.queryKeyNorm === true
        ? [
            { name: `${prefix}.self_attn.q_norm.weight`, shape: [headDim] },
            { name: `${prefix}.self_attn.k_norm.weight`, shape: [headDim] },
          ]
        : []),
      { name: `${prefix}.self_attn.o_proj.weight`, shape: [hiddenSize, queries] },
      { name: `${prefix}.post_attention_layernorm.weight`, shape: [hiddenSize] },
      { name: `${prefix}.mlp.gate_proj.weight`, shape: [intermediateSize, hiddenSize] },
      { name: `${prefix}.mlp.up_proj.weight`, shape: [intermediateSize, hiddenSize] },
      { name: `${prefix}.mlp.down_proj.weight`, shape: [hiddenSize, intermediateSize] },
    );
  }
  specs.push({ name: FINAL_NORM, shape: [hiddenSize] });
  if (!config.tieEmbeddings) {
    specs.push({ name: headName(config), shape: [config.vocabularySize, hiddenSize] });
  }
  return specs;
}

/** Counts the numbers of `parameterSpecs` without making a list, so that any sizes are possible. */
export function totalParameters(config: TransformerConfig): number {
  const { hiddenSize, intermediateSize, headDim, heads, keyValueHeads, layers } = config;
  const queries = heads * headDim;
  const keys = keyValueHeads * headDim;
  const biases = config.attentionBias === true ? queries + 2 * keys : 0;
  const norms = config.queryKeyNorm === true ? 2 * headDim : 0;
  const layer = 2 * hiddenSize + 2 * (queries + keys) * hiddenSize + biases + norms + 3 * hiddenSize * intermediateSize;
  return (config.tieEmbeddings ? 1 : 2) * config.vocabularySize * hiddenSize + layers * layer + hiddenSize;
}

/**
 * Lists the parameters as inputs of graphs: in the order of `parameterSpecs`, but with q_proj, k_proj
 * and v_proj of each layer as one matrix `qkv_proj`, and their biases as one vector. The three are
 * neighbors in that order, so the joined matrix is a view of the same numbers.
 */
export function graphParameterSpecs(config: TransformerConfig): readonly ParameterSpec[] {
  const joined = (config.heads + 2 * config.keyValueHeads) * config.headDim;
  return parameterSpecs(config).flatMap(({ name, shape }) => {
    if (/[kv]_proj\.(weight|bias)$/.test(name)) {
      return [];
    }
    return /q_proj\.(weight|bias)$/.test(name)
      ? [{ name: name.replace('q_proj', 'qkv_proj'), shape: [joined, ...shape.slice(1)] }]
      : [{ name, shape }];
  });
}

/** Lists A and B of each adapted matrix, in checkpoint order, with the names of PEFT. */
export function adapterSpecs(config: TransformerConfig): readonly ParameterSpec[] {
  const { adapter } = config;
  if (adapter === undefined) {
    return [];
  }
  return parameterSpecs(config).flatMap(({ name, shape: [outputs = 1, inputs = 1] }) => {
    if (!adapter.targetModules.some((module) => name.endsWith(`.${module}.weight`))) {
      return [];
    }
    const stem = name.slice(0, -'.weight'.length);
    return [
      { name: `${stem}.lora_A.weight`, shape: [adapter.rank, inputs] },
      { name: `${stem}.lora_B.weight`, shape: [outputs, adapter.rank] },
    ];
  });
}

/** Lists the trained parameters: those of the adapter if there is one, else all. */
export const trainedSpecs = (config: TransformerConfig): readonly ParameterSpec[] =>
  config.adapter === undefined ? graphParameterSpecs(config) : adapterSpecs(config);

/** Lists all weight inputs of a graph. */
const inputSpecs = (config: TransformerConfig): readonly ParameterSpec[] => [
  ...graphParameterSpecs(config),
  ...adapterSpecs(config),
];

export type Parameters = ReadonlyMap<string, Value>;

/**
 * Declares the parameters as graph inputs. Graphs that must agree bit for bit all take their weights
 * as inputs.
 */
export function parameterInputs(g: Graph, config: TransformerConfig): Parameters {
  return new Map(inputSpecs(config).map((spec) => [spec.name, weightInput(g, config, spec)]));
}

/**
 * Declares a weight as an input and converts it to the type of the computation. The embeddings stay in
 * their stored type, because only a few of their rows are read.
 */
export function weightInput(
  g: Graph,
  { halves }: TransformerConfig,
  { name, shape }: ParameterSpec,
  inputName = name,
): Value {
  if (halves === undefined || isLowRankFactor(name)) {
    return g.floatInput(inputName, shape);
  }
  const held = g.input(inputName, 'float16', shape);
  return name === EMBEDDING || (halves === 'computed' && shape.length > 1) ? held : cast(g, held, g.float);
}

const isLowRankFactor = (name: string): boolean => /\.lora_[AB]\.weight$/.test(name);

/** Declares the existing parts of a layer as inputs, under names without the layer number. */
export function layerParameterInputs(
  g: Graph,
  config: TransformerConfig,
  parts: readonly LayerPart[],
  rename: (part: LayerPart) => string = (part) => part,
): ReadonlyMap<LayerPart, Value> {
  const specs = new Map(inputSpecs(config).map((spec) => [spec.name, spec]));
  return new Map(
    parts.flatMap((part) => {
      const spec = specs.get(partName(0, part));
      return spec === undefined ? [] : [[part, weightInput(g, config, spec, rename(part))] as const];
    }),
  );
}

/** The tensors of a layer by their names in graphs. */
export type LayerPart = (typeof PROJECTION_PARTS)[number] | (typeof OUTPUT_PARTS)[number];
/**
 * The parts that project a layer's input to queries, keys and values. Not every architecture has bias,
 * norms and low-rank factors.
 */
export const PROJECTION_PARTS = [
  'input_layernorm',
  'self_attn.qkv_proj',
  'self_attn.qkv_proj.bias',
  'self_attn.q_norm',
  'self_attn.k_norm',
  'self_attn.q_proj.lora_A',
  'self_attn.q_proj.lora_B',
  'self_attn.k_proj.lora_A',
  'self_attn.k_proj.lora_B',
  'self_attn.v_proj.lora_A',
  'self_attn.v_proj.lora_B',
] as const;
/** The parts between attention's result and the layer's output. */
export const OUTPUT_PARTS = [
  'self_attn.o_proj',
  'post_attention_layernorm',
  'mlp.gate_proj',
  'mlp.up_proj',
  'mlp.down_proj',
  'self_attn.o_proj.lora_A',
  'self_attn.o_proj.lora_B',
  'mlp.gate_proj.lora_A',
  'mlp.gate_proj.lora_B',
  'mlp.up_proj.lora_A',
  'mlp.up_proj.lora_B',
  'mlp.down_proj.lora_A',
  'mlp.down_proj.lora_B',
] as const;
export const partName = (layer: number, part: LayerPart): string =>
  `model.layers.${layer}.${part}${part.endsWith('.bias') ? '' : '.weight'}`;

/** The weights of one layer, by part. */
export type LayerWeights = (part: LayerPart) => Value;

export function layerWeights(parameters: Parameters, layer: number): LayerWeights {
  return (part) => requireParameter(parameters, partName(layer, part));
}

/**
 * Returns a parameter.
 * @throws Error if it is missing
 */
export function requireParameter(parameters: Parameters, name: string): Value {
  const value = parameters.get(name);
  if (value === undefined) {
    throw new Error(`The graph has no parameter ${name}.`);
  }
  return value;
}

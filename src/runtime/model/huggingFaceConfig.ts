/** Reads config.json of a Hugging Face model folder, and refuses settings that are not computed. */

import { z } from 'zod';
import { C3Error, toErrorMessage } from '../../shared/errors.ts';
import { totalParameters, type RopeScaling, type TransformerConfig } from './transformer.ts';

export const CONFIG_FILE = 'config.json';

/** Families by `model_type`, and the decoder that each names in `architectures`. */
const FAMILIES = { llama: 'LlamaForCausalLM', qwen2: 'Qwen2ForCausalLM', qwen3: 'Qwen3ForCausalLM' } as const;
type Family = keyof typeof FAMILIES;

/** The default of Transformers. */
const DEFAULT_THETA = 10000;

/** Largest config.json. Those of published models have a few kilobytes. */
export const MAX_CONFIG_BYTES = 4 * 1024 * 1024;
/**
 * Limits: at least twice the values of the largest open models (Llama 3.1 405B, Llama 4, Gemma 3,
 * merges of up to 200 layers), and small enough that nothing sized from one is large.
 */
const MOST = {
  vocab_size: 2 ** 20,
  hidden_size: 2 ** 16,
  intermediate_size: 2 ** 18,
  num_hidden_layers: 512,
  num_attention_heads: 1024,
  num_key_value_heads: 1024,
  head_dim: 2048,
  max_position_embeddings: 2 ** 25,
} as const;
type Dimension = keyof typeof MOST;
/** Parameter limit: twice the largest open model of any family (Kimi K2: 10 ** 12). */
const MOST_PARAMETERS = 2 ** 41;
/** Limit of the sines and cosines of all positions: 2 GB of float32, which one graph can hold. */
const MOST_TABLE = 2 ** 29;

const count = z.int().positive();
const positive = z.number().positive();
const ropeSchema = z.looseObject({
  rope_type: z.string().nullish(),
  type: z.string().nullish(),
  rope_theta: positive.nullish(),
});

const configSchema = z.looseObject({
  vocab_size: count,
  hidden_size: count,
  intermediate_size: count,
  num_hidden_layers: count,
  num_attention_heads: count,
  num_key_value_heads: count.nullish(),
  head_dim: count.nullish(),
  rms_norm_eps: positive,
  rope_theta: positive.nullish(),
  rope_scaling: ropeSchema.nullish(),
  rope_parameters: ropeSchema.nullish(),
  max_position_embeddings: count,
  tie_word_embeddings: z.boolean().nullish(),
});
type ConfigJson = z.infer<typeof configSchema>;

const linearSchema = z.looseObject({ factor: positive });
const llama3Schema = linearSchema.extend({
  low_freq_factor: positive,
  high_freq_factor: positive,
  original_max_position_embeddings: count,
});

/** Keys that change the computation: their neutral values, and the meaning of other values. */
const NEUTRAL: readonly (readonly [key: string, values: readonly unknown[], meaning: string])[] = [
  ['hidden_act', ['silu'], 'an activation other than silu'],
  ['mlp_bias', [false], 'biases in the gated unit'],
  ['attention_bias', [false], 'biases in all four attention projections'],
  ['use_sliding_window', [false], 'sliding-window attention'],
  ['partial_rotary_factor', [1], 'rotation of a part of each head'],
  ['quantization_config', [], 'quantized weights'],
];

/**
 * Reads a configuration of the families llama (Llama 2 and 3.x), qwen2 (also 2.5 and Coder) and qwen3,
 * in the layouts of Transformers 4 and 5.
 * @param path name of the file in error messages
 * @throws C3Error('model') naming the key, for anything that the runtime does not compute exactly as
 *   the family does
 */
export function parseConfig(bytes: Uint8Array, path: string): TransformerConfig {
  const fail = (what: string): C3Error => new C3Error('model', `${path}: ${what}.`);
  const json = readObject(bytes, path);
  const family = readFamily(json, fail);
  const c = parseSection(configSchema, json, '', fail);
  refuseLarge(c, fail);
  refuseUnsupported(json, fail);
  const headDim = c.head_dim ?? deriveHeadDim(c, family, fail);
  refuseLarge({ head_dim: headDim }, fail);
  if (headDim % 2 !== 0) {
    throw fail(`head_dim: ${headDim} is odd, and rotary positions turn pairs`);
  }
  const keyValueHeads = c.num_key_value_heads ?? (family === 'llama' ? c.num_attention_heads : undefined);
  if (keyValueHeads === undefined) {
    throw fail('num_key_value_heads: missing');
  }
  if (c.num_attention_heads % keyValueHeads !== 0) {
    throw fail('num_attention_heads is not a multiple of num_key_value_heads');
  }
  const rope = readRope(c, fail);
  const config: TransformerConfig = {
    vocabularySize: c.vocab_size,
    hiddenSize: c.hidden_size,
    intermediateSize: c.intermediate_size,
    layers: c.num_hidden_layers,
    heads: c.num_attention_heads,
    keyValueHeads,
    headDim,
    rmsEpsilon: c.rms_norm_eps,
    ropeTheta: rope.theta,
    maxPositions: c.max_position_embeddings,
    tieEmbeddings: c.tie_word_embeddings ?? false,
    ...(family === 'qwen2' && { attentionBias: true }),
    ...(family === 'qwen3' && { queryKeyNorm: true }),
    ...(rope.scaling !== undefined && { ropeScaling: rope.scaling }),
  };
  refuseProducts(config, fail);
  return config;
}

/** Checks each dimension, before anything is sized from it. */
function refuseLarge(
  sizes: Readonly<Partial<Record<Dimension, number | null | undefined>>>,
  fail: (what: string) => C3Error,
): void {
  for (const [key, most] of Object.entries(MOST) as [Dimension, number][]) {
    const value = sizes[key] ?? 0;
    if (value > most) {
      throw fail(`${key}: ${value} is more than the ${most} that the runtime supports; choose a smaller model`);
    }
  }
}

function refuseProducts(config: TransformerConfig, fail: (what: string) => C3Error): void {
  const parameters = totalParameters(config);
  if (parameters > MOST_PARAMETERS) {
    throw fail(
      `the sizes make ${parameters} parameters, more than the ${MOST_PARAMETERS} that the runtime supports; choose a smaller model`,
    );
  }
  const table = config.maxPositions * config.headDim;
  if (table > MOST_TABLE) {
    throw fail(
      `max_position_embeddings: ${config.maxPositions} times head_dim: ${config.headDim} is more than the ${MOST_TABLE} that a table of positions holds; lower max_position_embeddings`,
    );
  }
}

function readObject(bytes: Uint8Array, path: string): Readonly<Record<string, unknown>> {
  try {
    const parsed = z.record(z.string(), z.unknown()).safeParse(JSON.parse(new TextDecoder().decode(bytes)));
    if (parsed.success) {
      return parsed.data;
    }
  } catch (error) {
    throw new C3Error('model', `${path} is not JSON: ${toErrorMessage(error)}.`);
  }
  throw new C3Error('model', `${path} is not a JSON object.`);
}

function parseSection<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  place: string,
  fail: (what: string) => C3Error,
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) {
    return parsed.data;
  }
  const issue = parsed.error.issues[0];
  throw fail(
    `${[...(place === '' ? [] : [place]), ...(issue?.path ?? [])].join('.')}: ${issue?.message ?? 'not understood'}`,
  );
}

function readFamily(json: Readonly<Record<string, unknown>>, fail: (what: string) => C3Error): Family {
  const type = json['model_type'];
  const known = Object.keys(FAMILIES);
  const family = (known as Family[]).find((name) => name === type);
  if (family === undefined) {
    throw fail(`model_type: ${shown(type)} is not supported; choose a model of ${known.join(', ')}`);
  }
  const named: unknown = json['architectures'];
  const other: unknown = Array.isArray(named) ? named.find((name) => name !== FAMILIES[family]) : undefined;
  if (other !== undefined) {
    throw fail(`architectures: ${shown(other)} is not supported; choose a ${FAMILIES[family]}`);
  }
  return family;
}

function refuseUnsupported(json: Readonly<Record<string, unknown>>, fail: (what: string) => C3Error): void {
  for (const [key, values, meaning] of NEUTRAL) {
    const value = json[key];
    if (value !== undefined && value !== null && !values.includes(value)) {
      throw fail(`${key}: ${shown(value)} asks for ${meaning}, which is not supported; choose a model without`);
    }
  }
  const kinds: unknown = json['layer_types'];
  const other: unknown = Array.isArray(kinds) ? kinds.find((kind) => kind !== 'full_attention') : undefined;
  if (other !== undefined) {
    throw fail(`layer_types: ${shown(other)} is not supported; choose a model with full_attention in every layer`);
  }
}

function deriveHeadDim(c: ConfigJson, family: Family, fail: (what: string) => C3Error): number {
  if (family === 'qwen3') {
    throw fail('head_dim: missing');
  }
  const width = c.hidden_size / c.num_attention_heads;
  if (!Number.isInteger(width)) {
    throw fail('hidden_size is not a multiple of num_attention_heads, and head_dim is missing');
  }
  return width;
}

/** Reads `rope_parameters` of Transformers 5, or `rope_theta` and `rope_scaling` of earlier versions. */
function readRope(
  c: ConfigJson,
  fail: (what: string) => C3Error,
): { readonly theta: number; readonly scaling: RopeScaling | undefined } {
  const [key, rope] = c.rope_parameters
    ? (['rope_parameters', c.rope_parameters] as const)
    : (['rope_scaling', c.rope_scaling ?? {}] as const);
  const theta = rope.rope_theta ?? c.rope_theta ?? DEFAULT_THETA;
  const type = rope.rope_type ?? rope.type ?? 'default';
  const partial = rope['partial_rotary_factor'];
  if (partial !== undefined && partial !== 1) {
    throw fail(
      `${key}.partial_rotary_factor: ${shown(partial)} asks for rotation of a part of each head, which is not supported; choose a model without`,
    );
  }
  // Different parameters per kind of layer are nested one level deeper.
  if (Object.values(rope).some((value) => typeof value === 'object' && value !== null)) {
    throw fail(`${key}: different rotary positions per kind of layer are not supported; choose a model with one`);
  }
  if (type === 'default') {
    return { theta, scaling: undefined };
  }
  if (type === 'linear') {
    return { theta, scaling: { type, factor: parseSection(linearSchema, rope, key, fail).factor } };
  }
  if (type !== 'llama3') {
    throw fail(`${key}: the scaling ${shown(type)} is not supported; choose a model with default, linear or llama3`);
  }
  const scaling = parseSection(llama3Schema, rope, key, fail);
  if (scaling.high_freq_factor <= scaling.low_freq_factor) {
    throw fail(`${key}.high_freq_factor: must be above low_freq_factor`);
  }
  return {
    theta,
    scaling: {
      type,
      factor: scaling.factor,
      lowFrequencyFactor: scaling.low_freq_factor,
      highFrequencyFactor: scaling.high_freq_factor,
      originalMaxPositions: scaling.original_max_position_embeddings,
    },
  };
}

/** Returns a value of the file on one line of bounded length. */
const shown = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 80));

/** Returns the configuration as JSON. Its bytes must stay the same, because they name snapshots. */
export function configToJson(config: TransformerConfig): Readonly<Record<string, unknown>> {
  const family: Family = config.attentionBias === true ? 'qwen2' : config.queryKeyNorm === true ? 'qwen3' : 'llama';
  return {
    model_type: family,
    vocab_size: config.vocabularySize,
    hidden_size: config.hiddenSize,
    intermediate_size: config.intermediateSize,
    num_hidden_layers: config.layers,
    num_attention_heads: config.heads,
    num_key_value_heads: config.keyValueHeads,
    head_dim: config.headDim,
    rms_norm_eps: config.rmsEpsilon,
    rope_theta: config.ropeTheta,
    max_position_embeddings: config.maxPositions,
    tie_word_embeddings: config.tieEmbeddings,
    ...(config.ropeScaling !== undefined && { rope_scaling: ropeToJson(config.ropeScaling) }),
  };
}

function ropeToJson(scaling: RopeScaling): Readonly<Record<string, unknown>> {
  if (scaling.type === 'linear') {
    return { rope_type: scaling.type, factor: scaling.factor };
  }
  return {
    rope_type: scaling.type,
    factor: scaling.factor,
    low_freq_factor: scaling.lowFrequencyFactor,
    high_freq_factor: scaling.highFrequencyFactor,
    original_max_position_embeddings: scaling.originalMaxPositions,
  };
}

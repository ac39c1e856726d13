/** A policy's parameters: one flat vector with named views, read from and written to a folder in the Hugging Face layout. */
import { createHash } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Tensor } from 'onnxruntime-node';
import { z } from 'zod';
import { C3Error, messageOf } from '../shared/errors.ts';
import { Stream, streamKey } from './random.ts';
import { readSafetensors, writeSafetensors } from './safetensors.ts';
import { floats } from './session.ts';
import { graphParameterSpecs, parameterSpecs, type ParameterSpec, type TransformerConfig } from './transformer.ts';
import { writeWhole } from './wholeFile.ts';

/** Where a parameter lies in the flat vector. */
export interface ParameterView {
  readonly name: string;
  readonly shape: readonly number[];
  readonly offset: number;
  readonly length: number;
}

export const CONFIG_FILE = 'config.json';
export const WEIGHTS_FILE = 'model.safetensors';

const configSchema = z.object({
  model_type: z.literal('llama'),
  vocab_size: z.int().positive(),
  hidden_size: z.int().positive(),
  intermediate_size: z.int().positive(),
  num_hidden_layers: z.int().positive(),
  num_attention_heads: z.int().positive(),
  num_key_value_heads: z.int().positive(),
  head_dim: z.int().positive().multipleOf(2),
  rms_norm_eps: z.number().positive(),
  rope_theta: z.number().positive(),
  max_position_embeddings: z.int().positive(),
  tie_word_embeddings: z.boolean(),
});

/** The layout of the flat parameter vector. */
export const parameterViews = (config: TransformerConfig): readonly ParameterView[] => consecutiveViews(parameterSpecs(config));

/** The same vector as graphs take it. */
export const graphParameterViews = (config: TransformerConfig): readonly ParameterView[] => consecutiveViews(graphParameterSpecs(config));

function consecutiveViews(specs: readonly ParameterSpec[]): readonly ParameterView[] {
  let offset = 0;
  return specs.map(({ name, shape }) => {
    const length = shape.reduce((product, dim) => product * dim, 1);
    const view = { name, shape, offset, length };
    offset += length;
    return view;
  });
}

export function parameterCount(config: TransformerConfig): number {
  return parameterViews(config).reduce((total, view) => total + view.length, 0);
}

/** One tensor per parameter of a graph, sharing the memory of the flat vector; `rename` gives the input that it feeds. */
export function parameterFeeds(config: TransformerConfig, flat: Float32Array, rename: (name: string) => string = (name) => name): Record<string, Tensor> {
  return Object.fromEntries(graphParameterViews(config).map(({ name, shape, offset, length }) => [rename(name), floats(flat.subarray(offset, offset + length), shape)]));
}

/**
 * Fresh parameters: normal with deviation 0.02 (output projections of each block scaled by 1/sqrt(2 layers), as in GPT-2), norms 1.
 * Every parameter has a stream of its own, so the values do not depend on the order of drawing.
 */
export function initialParameters(config: TransformerConfig, seed: number): Float32Array {
  const flat = new Float32Array(parameterCount(config));
  for (const { name, offset, length } of parameterViews(config)) {
    if (name.endsWith('norm.weight')) {
      flat.fill(1, offset, offset + length);
      continue;
    }
    const deviation = /(o_proj|down_proj)\.weight$/.test(name) ? 0.02 / Math.sqrt(2 * config.layers) : 0.02;
    const stream = new Stream(streamKey({ seed, scope: 'initial', uidSha: name, eventType: '', turn: 0, sibling: 0 }));
    for (let index = 0; index < length; index++) flat[offset + index] = deviation * stream.normal(index);
  }
  return flat;
}

/** The name of a set of parameters: SHA-256 over the configuration and the float32 bytes. */
export function snapshotId(config: TransformerConfig, flat: Float32Array): string {
  return createHash('sha256')
    .update(JSON.stringify(configToJson(config)))
    .update(new Uint8Array(flat.buffer, flat.byteOffset, flat.byteLength))
    .digest('hex');
}

export interface LoadedModel {
  readonly config: TransformerConfig;
  readonly parameters: Float32Array;
}

/** Loads config.json and model.safetensors. @throws C3Error('model') naming the file and what is wrong with it */
export async function loadModel(folder: string): Promise<LoadedModel> {
  const config = parseConfig(await readNamed(join(folder, CONFIG_FILE)), join(folder, CONFIG_FILE));
  return { config, parameters: await loadParameters(config, join(folder, WEIGHTS_FILE)) };
}

/** Reads the parameters of a configuration from one safetensors file. */
export async function loadParameters(config: TransformerConfig, path: string): Promise<Float32Array> {
  const { tensors } = readSafetensors(await readNamed(path), path);
  const flat = new Float32Array(parameterCount(config));
  for (const view of parameterViews(config)) {
    const tensor = tensors.get(view.name);
    if (tensor === undefined) throw new C3Error('model', `${path}: tensor ${view.name} is missing; the weights do not belong to this ${CONFIG_FILE}.`);
    if (tensor.shape.join('x') !== view.shape.join('x')) {
      throw new C3Error('model', `${path}: tensor ${view.name} has shape [${tensor.shape.join(', ')}] where ${CONFIG_FILE} needs [${view.shape.join(', ')}].`);
    }
    if (!tensor.data.every(Number.isFinite)) throw new C3Error('model', `${path}: tensor ${view.name} holds a value that is no finite number; copy the weights again from their source.`);
    flat.set(tensor.data, view.offset);
  }
  return flat;
}

/** Writes the parameters as one safetensors file, whole or not at all. */
export async function saveParameters(config: TransformerConfig, flat: Float32Array, path: string, dtype: 'F32' | 'F16' = 'F32'): Promise<void> {
  const tensors = parameterViews(config).map(({ name, shape, offset, length }) => ({ name, shape, data: flat.subarray(offset, offset + length) }));
  await writeWhole(path, writeSafetensors(tensors, dtype, { format: 'pt' }));
}

/** Writes a folder that loadModel reads. */
export async function saveModel(folder: string, model: LoadedModel, dtype: 'F32' | 'F16'): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeWhole(join(folder, CONFIG_FILE), Buffer.from(`${JSON.stringify(configToJson(model.config), null, 2)}\n`));
  await saveParameters(model.config, model.parameters, join(folder, WEIGHTS_FILE), dtype);
}

async function readNamed(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new C3Error('model', `Cannot read ${path}: ${messageOf(error)}; choose a folder with ${CONFIG_FILE} and ${WEIGHTS_FILE}.`, { cause: error });
  }
}

function parseConfig(bytes: Uint8Array, path: string): TransformerConfig {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    throw new C3Error('model', `${path} is not JSON: ${messageOf(error)}.`);
  }
  const parsed = configSchema.safeParse(json);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new C3Error('model', `${path}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not a supported model configuration'}.`);
  }
  const c = parsed.data;
  if (c.num_attention_heads % c.num_key_value_heads !== 0) throw new C3Error('model', `${path}: num_attention_heads is no multiple of num_key_value_heads.`);
  return {
    vocabularySize: c.vocab_size,
    hiddenSize: c.hidden_size,
    intermediateSize: c.intermediate_size,
    layers: c.num_hidden_layers,
    heads: c.num_attention_heads,
    keyValueHeads: c.num_key_value_heads,
    headDim: c.head_dim,
    rmsEpsilon: c.rms_norm_eps,
    ropeTheta: c.rope_theta,
    maxPositions: c.max_position_embeddings,
    tieEmbeddings: c.tie_word_embeddings,
  };
}

function configToJson(config: TransformerConfig): z.infer<typeof configSchema> {
  return {
    model_type: 'llama',
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
  };
}

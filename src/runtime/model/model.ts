/**
 * The parameters of a policy: one flat vector with named views, read from and written to a folder in
 * the Hugging Face layout.
 */

import { createHash, type Hash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Tensor } from 'onnxruntime-node';
import { type AbortFlag, NEVER } from '../../shared/cancellation.ts';
import type { Precision } from '../../shared/devices.ts';
import { C3Error, CancelledError, toErrorMessage } from '../../shared/errors.ts';
import {
  readTensors,
  readWeights,
  haveSameNumbers,
  WEIGHTS_FILE,
  type OnLoadProgress,
} from '../files/huggingFaceWeights.ts';
import { readModelFile } from '../files/modelFile.ts';
import { writeSafetensors } from '../files/safetensors.ts';
import type { TensorTarget } from '../files/safetensorsFile.ts';
import { writeFileAtomically } from '../files/wholeFile.ts';
import { Stream, streamKey } from '../random.ts';
import { floatTensor, halfTensor } from '../session/session.ts';
import { CONFIG_FILE, configToJson, MAX_CONFIG_BYTES, parseConfig } from './huggingFaceConfig.ts';
import {
  EMBEDDING,
  graphParameterSpecs,
  HEAD,
  parameterSpecs,
  totalParameters,
  type ParameterSpec,
  type TransformerConfig,
} from './transformer.ts';

/** The parameters of a model: float32, or the bits of float16 if they are not trained. */
export type ModelNumbers = Float32Array | Uint16Array;

/** The place of a parameter in the flat vector. */
export interface ParameterView {
  readonly name: string;
  readonly shape: readonly number[];
  readonly offset: number;
  readonly length: number;
}

export const parameterViews = (config: TransformerConfig): readonly ParameterView[] =>
  consecutiveViews(parameterSpecs(config));

/** Returns the layout of the same vector for the inputs of graphs. */
export const graphParameterViews = (config: TransformerConfig): readonly ParameterView[] =>
  consecutiveViews(graphParameterSpecs(config));

/** Lays out parameters one after the other in a flat vector. */
export function consecutiveViews(specs: readonly ParameterSpec[]): readonly ParameterView[] {
  let offset = 0;
  return specs.map(({ name, shape }) => {
    const length = shape.reduce((product, dim) => product * dim, 1);
    const view = { name, shape, offset, length };
    offset += length;
    return view;
  });
}

export const parameterCount = (config: TransformerConfig): number => totalParameters(config);

/**
 * Returns one tensor per parameter of a graph, sharing the memory of the flat vector.
 * @param rename returns the input of a parameter
 */
export function parameterFeeds(
  config: TransformerConfig,
  flat: ModelNumbers,
  rename: (name: string) => string = (name) => name,
): Record<string, Tensor> {
  return viewFeeds(graphParameterViews(config), flat, rename);
}

/** Does the same for any layout of a flat vector. */
export function viewFeeds(
  views: readonly ParameterView[],
  flat: ModelNumbers,
  rename: (name: string) => string = (name) => name,
): Record<string, Tensor> {
  const tensor = ({ shape, offset, length }: ParameterView): Tensor =>
    flat instanceof Float32Array
      ? floatTensor(flat.subarray(offset, offset + length), shape)
      : halfTensor(flat.subarray(offset, offset + length), shape);
  return Object.fromEntries(views.map((view) => [rename(view.name), tensor(view)]));
}

/**
 * Draws initial parameters: normal with deviation 0.02 (output projections of each block scaled by
 * 1/sqrt(2 layers), as in GPT-2), norms 1, biases 0. Every parameter has a stream of its own, so the
 * values do not depend on the order of drawing.
 */
export function initialParameters(config: TransformerConfig, seed: number): Float32Array {
  const flat = new Float32Array(parameterCount(config));
  for (const { name, offset, length } of parameterViews(config)) {
    if (name.endsWith('.bias')) {
      continue;
    }
    if (name.endsWith('norm.weight')) {
      flat.fill(1, offset, offset + length);
      continue;
    }
    const deviation = /(o_proj|down_proj)\.weight$/.test(name) ? 0.02 / Math.sqrt(2 * config.layers) : 0.02;
    const stream = new Stream(streamKey({ seed, scope: 'initial', uidSha: name, role: '', turn: 0, sibling: 0 }));
    for (let index = 0; index < length; index++) {
      flat[offset + index] = deviation * stream.normal(index);
    }
  }
  return flat;
}

const HASHED_BYTES = 2 ** 26;

/** Returns the name of parameters: SHA-256 over the configuration and the bytes of the numbers. */
export const snapshotId = (config: TransformerConfig, flat: ModelNumbers): string =>
  new SnapshotHash(config, flat).id(NEVER);

/** Computes the name of parameters. Those that were read are hashed while others are still being read. */
class SnapshotHash {
  private readonly hash: Hash;
  private readonly bytes: Uint8Array;
  private done = 0;

  constructor(config: TransformerConfig, flat: ModelNumbers) {
    this.hash = createHash('sha256').update(JSON.stringify(configToJson(config)));
    if (!(flat instanceof Float32Array)) {
      this.hash.update('float16');
    }
    this.bytes = new Uint8Array(flat.buffer, flat.byteOffset, flat.byteLength);
  }

  /** Reports that a part is filled. A part that does not follow the hashed ones is hashed at the end. */
  filled(part: ModelNumbers): void {
    if (part.byteOffset - this.bytes.byteOffset === this.done) {
      this.advance(part.byteLength);
    }
  }

  /** @throws CancelledError */
  id(signal: AbortFlag): string {
    while (this.done < this.bytes.length) {
      if (signal.aborted) {
        throw new CancelledError();
      }
      this.advance(Math.min(HASHED_BYTES, this.bytes.length - this.done));
    }
    return this.hash.digest('hex');
  }

  private advance(length: number): void {
    this.hash.update(this.bytes.subarray(this.done, this.done + length));
    this.done += length;
  }
}

export interface ModelWithParameters<Numbers extends ModelNumbers = Float32Array> {
  readonly config: TransformerConfig;
  readonly parameters: Numbers;
}

export interface LoadOptions {
  /** Element type in memory; default float32. */
  readonly precision?: Precision;
  readonly onProgress?: OnLoadProgress | undefined;
  readonly signal?: AbortFlag | undefined;
}

/**
 * Loads a folder in the Hugging Face layout: config.json, and model.safetensors or its shards with
 * their index.
 * @returns the model, and the name of its parameters as snapshotId computes it
 * @throws C3Error('model') naming the file and the fault
 * @throws CancelledError
 */
export async function loadModel(
  folder: string,
  options?: LoadOptions & { readonly precision?: 'float32' },
): Promise<ModelWithParameters & { readonly snapshot: string }>;
export async function loadModel(
  folder: string,
  options?: LoadOptions,
): Promise<ModelWithParameters<ModelNumbers> & { readonly snapshot: string }>;
export async function loadModel(
  folder: string,
  { precision = 'float32', onProgress, signal = NEVER }: LoadOptions = {},
): Promise<ModelWithParameters<ModelNumbers> & { readonly snapshot: string }> {
  const config = await loadConfig(folder);
  // Checks names, shapes and lengths first, so that no memory is allocated for numbers that no file
  // holds.
  await readWeights(folder, emptyTargets(config), makeUnusedTest(config));
  await refuseUntiedHead(folder, config);
  const parameters = allocateParameters(config, folder, precision);
  const hash = new SnapshotHash(config, parameters);
  const onPart = (part: ModelNumbers): void => {
    if (signal.aborted) {
      throw new CancelledError();
    }
    hash.filled(part);
  };
  await readWeights(folder, listTargets(config, parameters), makeUnusedTest(config), { onPart, onProgress });
  return { config, parameters, snapshot: hash.id(signal) };
}

/**
 * Allocates the memory of the parameters.
 * @throws C3Error('model') if there is not enough memory
 */
function allocateParameters(
  config: TransformerConfig,
  folder: string,
  precision: Precision,
): Float32Array<ArrayBuffer> | Uint16Array<ArrayBuffer> {
  const count = parameterCount(config);
  try {
    return precision === 'float16' ? new Uint16Array(count) : new Float32Array(count);
  } catch (error) {
    throw new C3Error(
      'model',
      `${folder}: ${count} parameters take more memory than is available (${toErrorMessage(error)}); choose a smaller model.`,
      { cause: error },
    );
  }
}

/**
 * Loads only config.json.
 * @throws C3Error('model')
 */
export async function loadConfig(folder: string): Promise<TransformerConfig> {
  const path = join(folder, CONFIG_FILE);
  return parseConfig(
    await readModelFile(path, MAX_CONFIG_BYTES, `choose a folder with ${CONFIG_FILE} and ${WEIGHTS_FILE}`),
    path,
  );
}

/** Reads the parameters of a configuration from one safetensors file. */
export async function loadParameters(config: TransformerConfig, path: string): Promise<Float32Array> {
  const flat = new Float32Array(parameterCount(config));
  await readTensors(path, listTargets(config, flat), makeUnusedTest(config));
  return flat;
}

/** Returns targets without memory: they are checked like others, but nothing is read. */
export const emptyTargets = (config: TransformerConfig): TensorTarget[] =>
  parameterSpecs(config).map(({ name, shape }) => ({ name, shape, into: new Float32Array() }));

const listTargets = (
  config: TransformerConfig,
  flat: Float32Array<ArrayBuffer> | Uint16Array<ArrayBuffer>,
): TensorTarget[] =>
  parameterViews(config).map(({ name, shape, offset, length }) => ({
    name,
    shape,
    into: flat.subarray(offset, offset + length),
  }));

/** Returns a test that is true for the name of an output projection tied to the embeddings. */
const makeUnusedTest =
  ({ tieEmbeddings }: TransformerConfig) =>
  (name: string): boolean =>
    tieEmbeddings && name === HEAD;

/**
 * Refuses a stored output projection that differs from the embeddings that it is tied to, because
 * versions of Transformers disagree on which of the two is used.
 * @throws C3Error('model')
 */
export async function refuseUntiedHead(folder: string, { tieEmbeddings }: TransformerConfig): Promise<void> {
  if (tieEmbeddings && (await haveSameNumbers(folder, EMBEDDING, HEAD)) === false) {
    throw new C3Error(
      'model',
      `${folder}: ${CONFIG_FILE} ties the output projection to the embeddings, and ${HEAD} is stored with other values; set tie_word_embeddings: false where it was trained, or leave it out of the weights.`,
    );
  }
}

/** Writes the parameters as one safetensors file, whole or not at all. */
export async function saveParameters(
  config: TransformerConfig,
  flat: Float32Array,
  path: string,
  dtype: 'F32' | 'F16' = 'F32',
): Promise<void> {
  const tensors = parameterViews(config).map(({ name, shape, offset, length }) => ({
    name,
    shape,
    data: flat.subarray(offset, offset + length),
  }));
  await writeFileAtomically(path, writeSafetensors(tensors, dtype, { format: 'pt' }));
}

/** Writes a folder that loadModel reads. */
export async function saveModel(folder: string, model: ModelWithParameters, dtype: 'F32' | 'F16'): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFileAtomically(
    join(folder, CONFIG_FILE),
    Buffer.from(`${JSON.stringify(configToJson(model.config), null, 2)}\n`),
  );
  await saveParameters(model.config, model.parameters, join(folder, WEIGHTS_FILE), dtype);
}

/** Adapters in the layout of PEFT: adapter_config.json and adapter_model.safetensors in one folder. Transformers and vLLM read the same files. */
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { C3Error, messageOf } from '../shared/errors.ts';
import { ADAPTER_MODULES, adapterModules, adapterParameterCount, adapterViews, type AdapterOrigin, type AdapterSettings } from './lora.ts';
import type { ParameterView } from './model.ts';
import { readSafetensors, writeSafetensors, type NamedTensor } from './safetensors.ts';
import { SafetensorsFile } from './safetensorsFile.ts';
import type { TransformerConfig } from './transformer.ts';
import { writeWhole } from './wholeFile.ts';

export const ADAPTER_CONFIG_FILE = 'adapter_config.json';
export const ADAPTER_WEIGHTS_FILE = 'adapter_model.safetensors';

/** How PEFT names a tensor of the model that it wraps. */
const PREFIX = 'base_model.model.';
const storedName = (name: string): string => PREFIX + name;

const settingsSchema = z.looseObject({ peft_type: z.literal('LORA'), r: z.int().positive(), lora_alpha: z.number().positive(), target_modules: z.array(z.string()) });

/** Keys of PEFT under which something else would be computed, unless they are off. */
const UNSUPPORTED: readonly (readonly [key: string, meaning: string])[] = [
  ['use_dora', 'weight-decomposed adapters (DoRA)'],
  ['use_rslora', 'rank-stabilised scaling'],
  ['use_qalora', 'quantisation-aware adapters'],
  ['fan_in_fan_out', 'transposed weights'],
  ['lora_bias', 'biases of the adapter'],
  ['modules_to_save', 'modules that are trained whole'],
  ['rank_pattern', 'a rank of their own for some modules'],
  ['alpha_pattern', 'an alpha of their own for some modules'],
  ['layers_to_transform', 'an adapter on some layers only'],
  ['layer_replication', 'replicated layers'],
  ['exclude_modules', 'excluded modules'],
  ['target_parameters', 'adapters of single parameters'],
  ['trainable_token_indices', 'trained tokens'],
  ['alora_invocation_tokens', 'activation by tokens'],
];
const isOff = (value: unknown): boolean =>
  value === undefined || value === null || value === false || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);

/** An adapter as a file or folder holds it. */
export interface StoredAdapter {
  readonly settings: AdapterSettings;
  readonly parameters: Float32Array;
  /** The snapshot that it was trained over, where the file says so. */
  readonly base: string | null;
}

/** The settings as adapter_config.json names them. */
export const settingsToJson = ({ rank, alpha, targetModules }: AdapterSettings): Record<string, unknown> => ({ peft_type: 'LORA', r: rank, lora_alpha: alpha, target_modules: ADAPTER_MODULES.filter((module) => targetModules.includes(module)) });

/**
 * Reads settings.
 * @param place how messages name where they stand
 * @throws C3Error('model') naming the key, for anything that the runtime does not compute as PEFT does; C3Error('input') for a target module that it does not know
 */
export function parseAdapterSettings(text: string, place: string): AdapterSettings {
  const fail = (what: string): C3Error => new C3Error('model', `${place}: ${what}.`);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw fail(`this is not JSON (${messageOf(error)})`);
  }
  const parsed = settingsSchema.safeParse(json);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw fail(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not valid'}; a LoRA adapter has peft_type LORA, r, lora_alpha and a list of target_modules`);
  }
  const unsupported = UNSUPPORTED.find(([key]) => !isOff(parsed.data[key]));
  if (unsupported !== undefined) throw fail(`${unsupported[0]} asks for ${unsupported[1]}, which the runtime does not compute`);
  const { bias } = parsed.data;
  if (!isOff(bias) && bias !== 'none') throw fail('bias asks for trained biases, which the runtime does not compute');
  return { rank: parsed.data.r, alpha: parsed.data.lora_alpha, targetModules: adapterModules(parsed.data.target_modules, place) };
}

/** Writes adapter_model.safetensors, whole or not at all; its metadata name settings and base. @throws C3Error('store') */
export async function saveAdapterFile(path: string, config: TransformerConfig, { settings, base }: AdapterOrigin, parameters: Float32Array): Promise<void> {
  const tensors = adapterViews(config, settings).map(({ name, shape, offset, length }) => ({ name: storedName(name), shape, data: parameters.subarray(offset, offset + length) }));
  await writeWhole(path, writeSafetensors(tensors, 'F32', { format: 'pt', c3_adapter: JSON.stringify(settingsToJson(settings)), c3_base: base }));
}

/**
 * Writes an adapter as PEFT does.
 * @param baseModel what others shall load it over: a folder or a name
 * @throws C3Error('store')
 */
export async function saveAdapter(folder: string, config: TransformerConfig, origin: AdapterOrigin, parameters: Float32Array, baseModel: string | null): Promise<void> {
  const json = { ...settingsToJson(origin.settings), task_type: 'CAUSAL_LM', base_model_name_or_path: baseModel, bias: 'none', lora_dropout: 0, fan_in_fan_out: false, use_dora: false, use_rslora: false, inference_mode: true };
  try {
    await mkdir(folder, { recursive: true });
  } catch (error) {
    throw new C3Error('store', `Cannot make the folder ${folder}: ${messageOf(error)}; choose another one.`, { cause: error });
  }
  // The configuration last: a folder that has one is complete.
  await saveAdapterFile(join(folder, ADAPTER_WEIGHTS_FILE), config, origin, parameters);
  await writeWhole(join(folder, ADAPTER_CONFIG_FILE), Buffer.from(`${JSON.stringify(json, null, 2)}\n`));
}

/** True for a file that `saveAdapterFile` wrote. @throws C3Error('model') where it is no safetensors file */
export async function isAdapterFile(path: string): Promise<boolean> {
  return SafetensorsFile.reading(path, ({ tensors }) => Promise.resolve([...tensors.keys()].some((name) => name.startsWith(PREFIX))));
}

/** Reads a folder that PEFT or `saveAdapter` wrote. @throws C3Error('model') naming file and key or tensor */
export async function loadAdapter(folder: string, config: TransformerConfig): Promise<StoredAdapter> {
  const path = join(folder, ADAPTER_CONFIG_FILE);
  const settings = parseAdapterSettings(Buffer.from(await bytesOf(path)).toString('utf8'), path);
  return readAdapter(join(folder, ADAPTER_WEIGHTS_FILE), config, () => settings);
}

/** Reads a file that `saveAdapterFile` wrote. @throws C3Error('model') naming the file and the tensor */
export async function loadAdapterFile(path: string, config: TransformerConfig): Promise<StoredAdapter> {
  return readAdapter(path, config, ({ c3_adapter: settings }) => {
    if (settings === undefined) throw new C3Error('model', `${path} does not say what adapter it holds; choose the folder with its ${ADAPTER_CONFIG_FILE}.`);
    return parseAdapterSettings(settings, path);
  });
}

async function readAdapter(path: string, config: TransformerConfig, settingsOf: (metadata: Readonly<Record<string, string>>) => AdapterSettings): Promise<StoredAdapter> {
  const { tensors, metadata } = readSafetensors(await bytesOf(path), path);
  const settings = settingsOf(metadata);
  const parameters = new Float32Array(adapterParameterCount(config, settings));
  const views = adapterViews(config, settings);
  for (const view of views) parameters.set(checked(tensors.get(storedName(view.name)), view, settings, path), view.offset);
  const known = new Set(views.map(({ name }) => storedName(name)));
  const surplus = [...tensors.keys()].find((name) => !known.has(name));
  if (surplus !== undefined) throw new C3Error('model', `${path}: tensor ${JSON.stringify(surplus.slice(0, 100))} belongs to no target module of this model; choose the model that the adapter was trained over.`);
  return { settings, parameters, base: metadata['c3_base'] ?? null };
}

/** The numbers of a tensor that must be there, of the right shape and finite. */
function checked(tensor: NamedTensor | undefined, { name, shape }: ParameterView, { rank }: AdapterSettings, path: string): Float32Array {
  const stored = storedName(name);
  if (tensor === undefined) throw new C3Error('model', `${path}: tensor ${stored} is missing; choose the model that the adapter was trained over.`);
  if (tensor.shape.join('x') !== shape.join('x')) {
    const axis = name.endsWith('.lora_A.weight') ? 0 : 1;
    const why = tensor.shape.length === 2 && tensor.shape[axis] !== rank ? `its rank is not ${String(rank)} as ${ADAPTER_CONFIG_FILE} says` : 'the adapter was trained over another model';
    throw new C3Error('model', `${path}: tensor ${stored} has shape [${tensor.shape.join(', ')}] where [${shape.join(', ')}] is needed: ${why}.`);
  }
  if (!tensor.data.every(Number.isFinite)) throw new C3Error('model', `${path}: tensor ${stored} holds a value that is no finite number; copy the adapter again from its source.`);
  return tensor.data;
}

async function bytesOf(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new C3Error('model', `Cannot read ${path}: ${messageOf(error)}; choose a folder with ${ADAPTER_CONFIG_FILE} and ${ADAPTER_WEIGHTS_FILE}.`, { cause: error });
  }
}

/** The whole state of training in one file: parameters, or those of each agent's adapter and what they stand on; AdamW's two moments and its step. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { C3Error, messageOf } from '../shared/errors.ts';
import { adapterParameterCount, type AdapterOrigin } from './lora.ts';
import { parseAdapterSettings, settingsToJson } from './loraFolder.ts';
import { parameterCount } from './model.ts';
import { readSafetensors, writeSafetensors, type NamedTensor } from './safetensors.ts';
import type { AdapterBase, TrainingState } from './trainer.ts';
import type { TransformerConfig } from './transformer.ts';
import { writeWhole } from './wholeFile.ts';

const VECTORS = ['parameters', 'momentum', 'variance'] as const;

/** What is trained, by agent: one state for all where no agent has an adapter of its own. States of one training have the same adapter origin. */
export type TrainingStates = ReadonlyMap<string, TrainingState>;

const agentsSchema = z.array(z.tuple([z.string(), z.int().min(0)])).min(1);

/** A vector of the file; the only state of a training stands without a number. */
const tensorName = (vector: (typeof VECTORS)[number], index: number): string => (index === 0 ? vector : `${vector}.${String(index)}`);

/** Writes training states as float32 safetensors, whole or not at all. @throws C3Error('store') */
export async function saveTrainingStates(states: TrainingStates, path: string): Promise<void> {
  const all = [...states.values()];
  const tensors = all.flatMap((state, index) => VECTORS.map((name) => ({ name: tensorName(name, index), shape: [state[name].length], data: state[name] })));
  const agents = JSON.stringify([...states].map(([agent, { step }]) => [agent, step]));
  const origin = originToText(all[0]?.adapter);
  await writeWhole(path, writeSafetensors(tensors, 'F32', { agents, ...origin, sha256: digest(agents, origin, tensors) }));
}

/**
 * Reads the training states of an architecture.
 * @param modelOf the parameters of a snapshot that adapters stand on
 * @throws C3Error('model') when the file is missing, damaged or another model's
 */
export async function loadTrainingStates(config: TransformerConfig, path: string, modelOf: (base: string) => Promise<Float32Array>): Promise<TrainingStates> {
  let bytes: Uint8Array;
  try {
    bytes = await readFile(path);
  } catch (error) {
    throw new C3Error('model', `Cannot read the checkpoint ${path}: ${messageOf(error)}; resume from an older one.`, { cause: error });
  }
  const { tensors, metadata } = readSafetensors(bytes, path);
  const origin = originOf(metadata, path);
  const count = origin === undefined ? parameterCount(config) : adapterParameterCount(config, origin.settings);
  const vector = (name: string): Float32Array => {
    const data = tensors.get(name)?.data;
    if (data?.length !== count) throw new C3Error('model', `${path} is no checkpoint of this model: ${name} has ${String(data?.length ?? 0)} numbers; delete it.`);
    return data;
  };
  const agents = parseAgents(metadata['agents'] ?? '', path);
  const read = agents.map(([agent, step], index) => {
    const [parameters, momentum, variance] = VECTORS.map((name) => vector(tensorName(name, index)));
    return { agent, state: { parameters: parameters ?? new Float32Array(), momentum: momentum ?? new Float32Array(), variance: variance ?? new Float32Array(), step } };
  });
  if (metadata['sha256'] !== digest(metadata['agents'] ?? '', originToText(origin), [...tensors.values()])) {
    throw new C3Error('model', `The checkpoint ${path} is damaged: its contents do not have its hash; delete it.`);
  }
  const adapter: AdapterBase | undefined = origin === undefined ? undefined : { ...origin, model: await modelOf(origin.base) };
  return new Map(read.map(({ agent, state }) => [agent, adapter === undefined ? state : { ...state, adapter }]));
}

function parseAgents(text: string, path: string): [agent: string, step: number][] {
  try {
    return agentsSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new C3Error('model', `The checkpoint ${path} does not say whose numbers it holds; delete it.`, { cause: error });
  }
}

/** Metadata that say what adapters stand on; none for a whole model's state. */
const originToText = (origin: AdapterOrigin | undefined): Record<string, string> => (origin === undefined ? {} : { adapter: JSON.stringify(settingsToJson(origin.settings)), base: origin.base });

function originOf({ adapter, base }: Readonly<Record<string, string>>, path: string): AdapterOrigin | undefined {
  return adapter === undefined ? undefined : { settings: parseAdapterSettings(adapter, path), base: base ?? '' };
}

function digest(agents: string, origin: Readonly<Record<string, string>>, tensors: readonly NamedTensor[]): string {
  const hash = createHash('sha256').update(`${agents}\n`);
  for (const text of Object.values(origin)) hash.update(`${text}\n`);
  for (const { data } of tensors) hash.update(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  return hash.digest('hex');
}

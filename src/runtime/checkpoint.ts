/** The whole state of training in one file: parameters, or those of an adapter and whose they are; AdamW's two moments and its step. */
import { createHash } from 'node:crypto';
import { access, constants } from 'node:fs/promises';
import { C3Error, messageOf } from '../shared/errors.ts';
import { adapterParameterCount, type AdapterOrigin } from './lora.ts';
import { parseAdapterSettings, settingsToJson } from './loraFolder.ts';
import { parameterCount } from './model.ts';
import { bytePieces, writeSafetensors } from './safetensors.ts';
import { SafetensorsFile } from './safetensorsFile.ts';
import type { TrainingState } from './trainer.ts';
import type { TransformerConfig } from './transformer.ts';
import { writeWhole } from './wholeFile.ts';

const VECTORS = ['parameters', 'momentum', 'variance'] as const;

/** Writes a training state as float32 safetensors, whole or not at all. @throws C3Error('store') */
export async function saveTrainingState(state: TrainingState, path: string): Promise<void> {
  const tensors = VECTORS.map((name) => ({ name, shape: [state[name].length], data: state[name] }));
  await writeWhole(path, writeSafetensors(tensors, 'F32', { step: String(state.step), ...originToText(state), sha256: digest(state) }));
}

/** Reads a training state of an architecture. @throws C3Error('model') when the file is missing, damaged or another model's */
export async function loadTrainingState(config: TransformerConfig, path: string): Promise<TrainingState> {
  try {
    await access(path, constants.R_OK);
  } catch (error) {
    throw new C3Error('model', `Cannot read the checkpoint ${path}: ${messageOf(error)}; resume from an older one.`, { cause: error });
  }
  return SafetensorsFile.reading(path, async (file) => {
    const { metadata } = file;
    const origin = originOf(metadata, path);
    const count = origin === undefined ? parameterCount(config) : adapterParameterCount(config, origin.settings);
    const vector = async (name: (typeof VECTORS)[number]): Promise<Float32Array> => {
      const shape = file.tensors.get(name)?.shape;
      if (shape?.length !== 1 || shape[0] !== count) throw new C3Error('model', `${path} is no checkpoint of this model: ${name} has ${shape?.join(' x ') ?? '0'} numbers where ${String(count)} are needed; delete it.`);
      const into = new Float32Array(count);
      await file.read({ name, shape, into });
      return into;
    };
    const state: TrainingState = { ...(origin !== undefined && { adapter: origin }), parameters: await vector('parameters'), momentum: await vector('momentum'), variance: await vector('variance'), step: Number(metadata['step']) };
    if (metadata['sha256'] !== digest(state)) throw new C3Error('model', `The checkpoint ${path} is damaged: its contents do not have its hash; delete it.`);
    return state;
  });
}

/** Metadata that say whose parameters these are; none for a whole model's. */
const originToText = ({ adapter }: TrainingState): Record<string, string> => (adapter === undefined ? {} : { adapter: JSON.stringify(settingsToJson(adapter.settings)), base: adapter.base });

function originOf({ adapter, base }: Readonly<Record<string, string>>, path: string): AdapterOrigin | undefined {
  return adapter === undefined ? undefined : { settings: parseAdapterSettings(adapter, path), base: base ?? '' };
}

function digest(state: TrainingState): string {
  const hash = createHash('sha256').update(`${String(state.step)}\n`);
  for (const text of Object.values(originToText(state))) hash.update(`${text}\n`);
  for (const name of VECTORS) for (const piece of bytePieces(state[name])) hash.update(piece);
  return hash.digest('hex');
}

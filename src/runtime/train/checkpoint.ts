/**
 * The whole training state in one file: the parameters (or those of each role's adapter and their
 * base), AdamW's two moments and step, and a value head with its own.
 */

import { createHash, type Hash } from 'node:crypto';
import { access, constants } from 'node:fs/promises';
import { z } from 'zod';
import { C3Error, toErrorMessage } from '../../shared/errors.ts';
import { bytePieces, writeSafetensors } from '../files/safetensors.ts';
import { SafetensorsFile } from '../files/safetensorsFile.ts';
import { writeFileAtomically } from '../files/wholeFile.ts';
import { adapterParameterCount, type AdapterOrigin } from '../model/lora.ts';
import { parseAdapterSettings, settingsToJson } from '../model/loraFolder.ts';
import { parameterCount, type ModelNumbers } from '../model/model.ts';
import type { TransformerConfig } from '../model/transformer.ts';
import { initialLeastSquares } from './leastSquares.ts';
import type { AdapterBase, TrainingState } from './trainingState.ts';
import { initialValueHead, type ValueHead } from './valueHead.ts';

const VECTORS = ['parameters', 'momentum', 'variance'] as const;

/**
 * Training states by role. There is only one state if no role has an adapter of its own. All states of
 * a training have the same adapter origin.
 */
export type TrainingStates = ReadonlyMap<string, TrainingState>;

const rolesSchema = z.array(z.tuple([z.string(), z.int().min(0)])).min(1);

/** Returns the name of a vector in the file. The first state has no number. */
const tensorName = (vector: (typeof VECTORS)[number], index: number): string =>
  index === 0 ? vector : `${vector}.${index}`;

const headTensorName = (vector: string): string => `value_head.${vector}`;

/** Returns the vectors of a value head, which depend on its kind. */
const headVectors = (head: ValueHead): Readonly<Record<string, Float32Array>> =>
  head.kind === 'gradient'
    ? { parameters: head.parameters, momentum: head.momentum, variance: head.variance }
    : { parameters: head.parameters, products: head.products, moments: head.moments };

/**
 * Writes training states and the value head, if there is one, as float32 safetensors, whole or not
 * at all.
 * @throws C3Error('store')
 */
export async function saveTrainingStates(states: TrainingStates, path: string, head?: ValueHead): Promise<void> {
  const all = [...states.values()];
  const tensors = all.flatMap((state, index) =>
    VECTORS.map((name) => ({ name: tensorName(name, index), shape: [state[name].length], data: state[name] })),
  );
  const roles = JSON.stringify([...states].map(([role, { step }]) => [role, step]));
  const origin = originToText(all[0]?.adapter);
  const headTensors =
    head === undefined
      ? []
      : Object.entries(headVectors(head)).map(([name, data]) => ({
          name: headTensorName(name),
          shape: [data.length],
          data,
        }));
  const ofHead: Record<string, string> =
    head === undefined ? {} : { valueHeadStep: String(head.step), valueHeadSha256: headDigest(head) };
  await writeFileAtomically(
    path,
    writeSafetensors([...tensors, ...headTensors], 'F32', {
      agents: roles,
      ...origin,
      sha256: digest(roles, origin, all),
      ...ofHead,
    }),
  );
}

/**
 * Reads the training states of an architecture.
 * @param modelOf returns the parameters of the snapshot under the adapters
 * @throws C3Error('model') if the file is missing, damaged or of another model
 */
export async function loadTrainingStates(
  config: TransformerConfig,
  path: string,
  modelOf: (base: string) => Promise<ModelNumbers>,
): Promise<TrainingStates> {
  try {
    await access(path, constants.R_OK);
  } catch (error) {
    throw new C3Error(
      'model',
      `Cannot read the checkpoint ${path}: ${toErrorMessage(error)}; resume from an older one.`,
      { cause: error },
    );
  }
  return SafetensorsFile.reading(path, async (file) => {
    const { metadata } = file;
    const origin = parseOrigin(metadata, path);
    const count = origin === undefined ? parameterCount(config) : adapterParameterCount(config, origin.settings);
    const vector = async (name: string): Promise<Float32Array> => {
      const shape = file.tensors.get(name)?.shape;
      if (shape?.length !== 1 || shape[0] !== count) {
        throw new C3Error(
          'model',
          `${path} is not a checkpoint of this model: ${name} has ${shape?.join(' x ') ?? '0'} numbers where ${count} are needed; delete it.`,
        );
      }
      const into = new Float32Array(count);
      await file.read({ name, shape, into });
      return into;
    };
    const states = new Map<string, TrainingState>();
    for (const [index, [role, step]] of parseRoles(metadata['agents'] ?? '', path).entries()) {
      const [parameters, momentum, variance] = [
        await vector(tensorName('parameters', index)),
        await vector(tensorName('momentum', index)),
        await vector(tensorName('variance', index)),
      ];
      states.set(role, { parameters, momentum, variance, step });
    }
    if (metadata['sha256'] !== digest(metadata['agents'] ?? '', originToText(origin), [...states.values()])) {
      throw new C3Error('model', `The checkpoint ${path} is damaged: its contents do not match its hash; delete it.`);
    }
    if (origin === undefined) {
      return states;
    }
    const adapter: AdapterBase = { ...origin, model: await modelOf(origin.base) };
    return new Map([...states].map(([role, state]) => [role, { ...state, adapter }]));
  });
}

/**
 * Reads the value head of a checkpoint, or undefined if it has none.
 * @throws C3Error('model') if it is damaged or of another model
 */
export async function loadValueHead({ hiddenSize }: TransformerConfig, path: string): Promise<ValueHead | undefined> {
  return SafetensorsFile.reading(path, async (file) => {
    const { valueHeadStep, valueHeadSha256 } = file.metadata;
    if (valueHeadStep === undefined) {
      return undefined;
    }
    const initial = file.tensors.has(headTensorName('moments'))
      ? initialLeastSquares(hiddenSize)
      : initialValueHead(hiddenSize);
    const head: ValueHead = { ...initial, step: Number(valueHeadStep) };
    for (const [name, vector] of Object.entries(headVectors(head))) {
      const into = new Float32Array(vector.length);
      await file.read({ name: headTensorName(name), shape: [into.length], into });
      vector.set(into);
    }
    if (valueHeadSha256 !== headDigest(head)) {
      throw new C3Error(
        'model',
        `The checkpoint ${path} is damaged: its value head does not match its hash; delete it.`,
      );
    }
    return head;
  });
}

function headDigest(head: ValueHead): string {
  const hash = createHash('sha256').update(`value head ${head.step}\n`);
  for (const vector of Object.values(headVectors(head))) {
    for (const piece of bytePieces(vector)) {
      hash.update(piece);
    }
  }
  return hash.digest('hex');
}

function parseRoles(text: string, path: string): [role: string, step: number][] {
  try {
    return rolesSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new C3Error('model', `The checkpoint ${path} has no valid list of roles; delete it.`, { cause: error });
  }
}

/** Returns the metadata of the adapters' origin, which are empty for a whole model. */
const originToText = (origin: AdapterOrigin | undefined): Record<string, string> =>
  origin === undefined ? {} : { adapter: JSON.stringify(settingsToJson(origin.settings)), base: origin.base };

function parseOrigin({ adapter, base }: Readonly<Record<string, string>>, path: string): AdapterOrigin | undefined {
  return adapter === undefined ? undefined : { settings: parseAdapterSettings(adapter, path), base: base ?? '' };
}

function digest(roles: string, origin: Readonly<Record<string, string>>, states: readonly TrainingState[]): string {
  const hash = createHash('sha256').update(`${roles}\n`);
  for (const text of Object.values(origin)) {
    hash.update(`${text}\n`);
  }
  for (const state of states) {
    hashState(hash, state);
  }
  return hash.digest('hex');
}

function hashState(hash: Hash, state: Pick<TrainingState, (typeof VECTORS)[number]>): Hash {
  for (const name of VECTORS) {
    for (const piece of bytePieces(state[name])) {
      hash.update(piece);
    }
  }
  return hash;
}

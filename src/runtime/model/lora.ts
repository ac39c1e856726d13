/**
 * Adapters of a model (LoRA, see AdapterSettings): their parameters as flat vectors with named views,
 * their initial values, and the names of adapted snapshots.
 */

import { createHash } from 'node:crypto';
import type { Tensor } from 'onnxruntime-node';
import { findTraits } from '../../shared/devices.ts';
import { C3Error, findNearestName } from '../../shared/errors.ts';
import { Stream, streamKey } from '../random.ts';
import type { DeviceSettings } from '../session/session.ts';
import { consecutiveViews, parameterFeeds, viewFeeds, type ModelNumbers, type ParameterView } from './model.ts';
import {
  ADAPTER_MODULES,
  adapterSpecs,
  type AdapterModule,
  type AdapterSettings,
  type TransformerConfig,
} from './transformer.ts';

/** The role name of an adapter that the whole team shares. */
export const WHOLE_TEAM = '';

/** The settings of adapters and the model under them. */
export interface AdapterOrigin {
  readonly settings: AdapterSettings;
  /** Name of the snapshot of the model under them. */
  readonly base: string;
}

/** The parameters of a model and of an adapter over it. Neither vector ever changes again. */
export interface AdaptedWeights {
  readonly model: ModelNumbers;
  readonly adapter: Float32Array;
}

/** The weights of a policy: the parameters of a model, alone or with an adapter. */
export type PolicyWeights = ModelNumbers | AdaptedWeights;

/** Returns the architecture with an adapter of these settings, or without one if they are undefined. */
export const withAdapter = (
  { adapter: _, ...config }: TransformerConfig,
  settings: AdapterSettings | undefined,
): TransformerConfig => (settings === undefined ? config : { ...config, adapter: settings });

/** Returns the architecture with its weights in the precision of the device. */
export const withHalves = (config: TransformerConfig, device: DeviceSettings): TransformerConfig =>
  (device.precision ?? 'float32') === 'float32' ? config : { ...config, halves: findTraits(device).halves };

/**
 * Checks the names of target modules.
 * @param place name of the list in error messages
 * @throws C3Error('input') for an empty list or a name that is not a target module
 */
export function parseAdapterModules(names: readonly string[], place: string): AdapterModule[] {
  const isModule = (name: string): name is AdapterModule => ADAPTER_MODULES.some((module) => module === name);
  const unknown = names.find((name) => !isModule(name));
  if (unknown !== undefined) {
    const nearest = findNearestName(unknown, ADAPTER_MODULES);
    throw new C3Error(
      'input',
      `${place}: ${JSON.stringify(unknown.slice(0, 100))} is not a target module; ${nearest === undefined ? `choose from ${ADAPTER_MODULES.join(', ')}.` : `did you mean ${nearest}?`}`,
    );
  }
  if (names.length === 0) {
    throw new C3Error(
      'input',
      `${place}: an adapter needs at least one target module; choose from ${ADAPTER_MODULES.join(', ')}.`,
    );
  }
  return names.filter(isModule);
}

export const adapterViews = (config: TransformerConfig, settings: AdapterSettings): readonly ParameterView[] =>
  consecutiveViews(adapterSpecs(withAdapter(config, settings)));

export const adapterParameterCount = (config: TransformerConfig, settings: AdapterSettings): number =>
  adapterViews(config, settings).reduce((total, { length }) => total + length, 0);

/** Returns one tensor for each weight input of a graph, sharing the memory of the vectors. */
export function weightFeeds(config: TransformerConfig, weights: PolicyWeights): Record<string, Tensor> {
  if (!('adapter' in weights)) {
    return parameterFeeds(config, weights);
  }
  return {
    ...parameterFeeds(config, weights.model),
    ...viewFeeds(consecutiveViews(adapterSpecs(config)), weights.adapter),
  };
}

/**
 * Draws a new adapter, which changes nothing: B is 0, A uniform in +-1 / sqrt(in) as PEFT draws it
 * (Kaiming with a = sqrt(5)), each matrix from a stream of its own.
 * @param role the role of the adapter; roles draw different numbers
 */
export function initialAdapter(
  config: TransformerConfig,
  settings: AdapterSettings,
  seed: number,
  role = WHOLE_TEAM,
): Float32Array {
  const flat = new Float32Array(adapterParameterCount(config, settings));
  for (const { name, shape, offset, length } of adapterViews(config, settings)) {
    if (isFactorB(name)) {
      continue;
    }
    const bound = 1 / Math.sqrt(shape[1] ?? 1);
    const stream = new Stream(streamKey({ seed, scope: 'initial', uidSha: name, role, turn: 0, sibling: 0 }));
    for (let index = 0; index < length; index++) {
      flat[offset + index] = bound * (2 * stream.uniform(index) - 1);
    }
  }
  return flat;
}

/**
 * Returns the name of a base with the adapters of its roles: SHA-256 over the name of the base, the
 * settings and each adapter's role and float32 bytes. If every B is 0, the policy equals the base, and
 * the name is that of the base.
 */
export function adapterSnapshotId(
  config: TransformerConfig,
  { settings, base }: AdapterOrigin,
  adapters: ReadonlyMap<string, Float32Array>,
): string {
  const factors = adapterViews(config, settings).filter(({ name }) => isFactorB(name));
  const moved = [...adapters.values()].some((flat) =>
    factors.some(({ offset, length }) => flat.subarray(offset, offset + length).some((value) => value !== 0)),
  );
  if (!moved) {
    return base;
  }
  const modules = ADAPTER_MODULES.filter((module) => settings.targetModules.includes(module));
  const hash = createHash('sha256').update(JSON.stringify([base, settings.rank, settings.alpha, modules]));
  for (const [role, { buffer, byteOffset, byteLength }] of [...adapters].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (role !== WHOLE_TEAM) {
      hash.update(JSON.stringify(role));
    }
    hash.update(new Uint8Array(buffer, byteOffset, byteLength));
  }
  return hash.digest('hex');
}

const isFactorB = (name: string): boolean => name.endsWith('.lora_B.weight');

/**
 * Adapters of a model (LoRA, see AdapterSettings): their parameters as flat vectors with named views, their first
 * values, and the names of what they make.
 */
import { createHash } from 'node:crypto';
import type { Tensor } from 'onnxruntime-node';
import { traitsOf } from '../../shared/devices.ts';
import { C3Error, nearestName } from '../../shared/errors.ts';
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

/** The role of an adapter that all of a team share. */
export const WHOLE_TEAM = '';

/** What adapters are based on. */
export interface AdapterOrigin {
  readonly settings: AdapterSettings;
  /** Snapshot of the model under them. */
  readonly base: string;
}

/** A model's parameters, with an adapter's beside them. Neither vector ever changes again. */
export interface AdaptedWeights {
  readonly model: ModelNumbers;
  readonly adapter: Float32Array;
}

/** What a policy computes with: a model's parameters as they are, or with an adapter. */
export type PolicyWeights = ModelNumbers | AdaptedWeights;

/** The architecture with an adapter of these settings beside its matrices; undefined takes one away. */
export const withAdapter = (
  { adapter: _, ...config }: TransformerConfig,
  settings: AdapterSettings | undefined,
): TransformerConfig => (settings === undefined ? config : { ...config, adapter: settings });

/** The architecture with its weights as a device holds them. */
export const withHalves = (config: TransformerConfig, device: DeviceSettings): TransformerConfig =>
  (device.precision ?? 'float32') === 'float32' ? config : { ...config, halves: traitsOf(device).halves };

/**
 * The modules by name.
 * @param place how the error names what lists them
 * @throws C3Error('input') for one that can have no adapter, or none at all
 */
export function adapterModules(names: readonly string[], place: string): AdapterModule[] {
  const isModule = (name: string): name is AdapterModule => ADAPTER_MODULES.some((module) => module === name);
  const unknown = names.find((name) => !isModule(name));
  if (unknown !== undefined) {
    const nearest = nearestName(unknown, ADAPTER_MODULES);
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

/** The layout of an adapter's flat vector. */
export const adapterViews = (config: TransformerConfig, settings: AdapterSettings): readonly ParameterView[] =>
  consecutiveViews(adapterSpecs(withAdapter(config, settings)));

export const adapterParameterCount = (config: TransformerConfig, settings: AdapterSettings): number =>
  adapterViews(config, settings).reduce((total, { length }) => total + length, 0);

/** One tensor for each weight that a graph of this architecture takes, sharing the memory of the vectors. */
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
 * A fresh adapter, which changes nothing: B is 0, A uniform in +-1 / sqrt(in) as PEFT draws it (Kaiming with a =
 * sqrt(5)), each from a stream of its own.
 * @param role whose it is; roles draw different numbers
 */
export function initialAdapter(
  config: TransformerConfig,
  settings: AdapterSettings,
  seed: number,
  role = WHOLE_TEAM,
): Float32Array {
  const flat = new Float32Array(adapterParameterCount(config, settings));
  for (const { name, shape, offset, length } of adapterViews(config, settings)) {
    if (isB(name)) {
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
 * The name of a base with the adapters of its roles: SHA-256 over the base's name, the settings and each adapter's
 * role and float32 bytes. Where every B is 0 the policy is the base, and so is the name.
 */
export function adapterSnapshotId(
  config: TransformerConfig,
  { settings, base }: AdapterOrigin,
  adapters: ReadonlyMap<string, Float32Array>,
): string {
  const factors = adapterViews(config, settings).filter(({ name }) => isB(name));
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

const isB = (name: string): boolean => name.endsWith('.lora_B.weight');

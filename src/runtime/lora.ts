/**
 * Low-rank adapters (LoRA, Hu et al. 2022, section 4.1): a weight W [out, in] becomes W + (alpha / rank) B A with A [rank, in] and B [out, rank].
 * Names and initial values are those of PEFT; an adapter's parameters are one flat vector with named views, like a model's.
 */
import { createHash } from 'node:crypto';
import { C3Error, nearestName } from '../shared/errors.ts';
import { consecutiveViews, type ParameterView } from './model.ts';
import { Stream, streamKey } from './random.ts';
import { graphParameterSpecs, parameterSpecs, type ParameterSpec, type TransformerConfig } from './transformer.ts';

/** The matrices of a layer that can have an adapter. */
export const ADAPTER_MODULES = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'] as const;
export type AdapterModule = (typeof ADAPTER_MODULES)[number];

export interface AdapterSettings {
  readonly rank: number;
  readonly alpha: number;
  /** Which matrices of every layer; their order does not matter. */
  readonly targetModules: readonly AdapterModule[];
}

/** Which adapter a vector of parameters is: its settings, and the snapshot that it stands on. */
export interface AdapterOrigin {
  readonly settings: AdapterSettings;
  readonly base: string;
}

/** One weight with an adapter. */
export interface AdaptedMatrix {
  /** Checkpoint name of the weight. */
  readonly weight: string;
  /** The tensor that graphs take it in, and the first of its rows there: queries, keys and values are joined. */
  readonly graphWeight: string;
  readonly firstRow: number;
  readonly outputs: number;
  readonly inputs: number;
  /** Names of A and B. */
  readonly a: string;
  readonly b: string;
}

/** alpha / rank. */
export const adapterScale = ({ rank, alpha }: AdapterSettings): number => alpha / rank;

/** The modules by name. @param place how the error names what lists them @throws C3Error('input') for one that can have no adapter, or none at all */
export function adapterModules(names: readonly string[], place: string): AdapterModule[] {
  const isModule = (name: string): name is AdapterModule => ADAPTER_MODULES.some((module) => module === name);
  const unknown = names.find((name) => !isModule(name));
  if (unknown !== undefined) {
    const nearest = nearestName(unknown, ADAPTER_MODULES);
    throw new C3Error('input', `${place}: ${JSON.stringify(unknown.slice(0, 100))} is no target module; ${nearest === undefined ? `known are ${ADAPTER_MODULES.join(', ')}.` : `did you mean ${nearest}?`}`);
  }
  if (names.length === 0) throw new C3Error('input', `${place}: an adapter needs at least one target module; known are ${ADAPTER_MODULES.join(', ')}.`);
  return names.filter(isModule);
}

/** Every weight that an adapter changes, in checkpoint order. */
export function adaptedMatrices(config: TransformerConfig, settings: AdapterSettings): readonly AdaptedMatrix[] {
  const joined = new Set(graphParameterSpecs(config).map(({ name }) => name));
  const queries = config.heads * config.headDim;
  const firstRows = new Map<string, number>([['k_proj', queries], ['v_proj', queries + config.keyValueHeads * config.headDim]]);
  return parameterSpecs(config).flatMap(({ name, shape: [outputs, inputs] }) => {
    const module = ADAPTER_MODULES.find((known) => name.endsWith(`.${known}.weight`));
    if (module === undefined || outputs === undefined || inputs === undefined || !settings.targetModules.includes(module)) return [];
    const stem = name.slice(0, -'.weight'.length);
    const graphWeight = joined.has(name) ? name : name.replace(`${module}.weight`, 'qkv_proj.weight');
    return [{ weight: name, graphWeight, firstRow: firstRows.get(module) ?? 0, outputs, inputs, a: `${stem}.lora_A.weight`, b: `${stem}.lora_B.weight` }];
  });
}

/** Every parameter of an adapter: A and B of each weight, in checkpoint order. */
export const adapterSpecs = (config: TransformerConfig, settings: AdapterSettings): readonly ParameterSpec[] =>
  adaptedMatrices(config, settings).flatMap(({ a, b, outputs, inputs }) => [
    { name: a, shape: [settings.rank, inputs] },
    { name: b, shape: [outputs, settings.rank] },
  ]);

/** The layout of an adapter's flat vector. */
export const adapterViews = (config: TransformerConfig, settings: AdapterSettings): readonly ParameterView[] => consecutiveViews(adapterSpecs(config, settings));

export const adapterParameterCount = (config: TransformerConfig, settings: AdapterSettings): number => adapterViews(config, settings).reduce((total, { length }) => total + length, 0);

/** A fresh adapter, which changes nothing: B is 0, A uniform in +-1 / sqrt(in) as PEFT draws it (Kaiming with a = sqrt(5)), each from a stream of its own. */
export function initialAdapter(config: TransformerConfig, settings: AdapterSettings, seed: number): Float32Array {
  const flat = new Float32Array(adapterParameterCount(config, settings));
  for (const { name, shape, offset, length } of adapterViews(config, settings)) {
    if (isB(name)) continue;
    const bound = 1 / Math.sqrt(shape[1] ?? 1);
    const stream = new Stream(streamKey({ seed, scope: 'initial', uidSha: name, eventType: '', turn: 0, sibling: 0 }));
    for (let index = 0; index < length; index++) flat[offset + index] = bound * (2 * stream.uniform(index) - 1);
  }
  return flat;
}

/**
 * The name of base and adapter together: SHA-256 over the base's name, the settings and the adapter's float32 bytes. Where B is 0 everywhere the weights
 * are the base's, and so is the name.
 */
export function adapterSnapshotId(config: TransformerConfig, { settings, base }: AdapterOrigin, flat: Float32Array): string {
  const moved = adapterViews(config, settings).some(({ name, offset, length }) => isB(name) && flat.subarray(offset, offset + length).some((value) => value !== 0));
  if (!moved) return base;
  const modules = ADAPTER_MODULES.filter((module) => settings.targetModules.includes(module));
  return createHash('sha256')
    .update(JSON.stringify([base, settings.rank, settings.alpha, modules]))
    .update(new Uint8Array(flat.buffer, flat.byteOffset, flat.byteLength))
    .digest('hex');
}

const isB = (name: string): boolean => name.endsWith('.lora_B.weight');

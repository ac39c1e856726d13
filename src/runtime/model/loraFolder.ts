/**
 * Adapters in the layout of PEFT: adapter_config.json and adapter_model.safetensors in one folder, or
 * in one folder for each role, as PEFT places named adapters. Transformers and vLLM read the same
 * files.
 */

import { existsSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { RE2JS } from 're2js';
import { z } from 'zod';
import { C3Error, toErrorMessage } from '../../shared/errors.ts';
import { readModelFile } from '../files/modelFile.ts';
import { writeSafetensors, type StoredTensor } from '../files/safetensors.ts';
import { SafetensorsFile } from '../files/safetensorsFile.ts';
import { writeFileAtomically } from '../files/wholeFile.ts';
import { adapterParameterCount, adapterViews, WHOLE_TEAM, type AdapterOrigin, parseAdapterModules } from './lora.ts';
import type { ParameterView } from './model.ts';
import { ADAPTER_MODULES, type AdapterSettings, type TransformerConfig, type AdapterModule } from './transformer.ts';

export const ADAPTER_CONFIG_FILE = 'adapter_config.json';
export const ADAPTER_WEIGHTS_FILE = 'adapter_model.safetensors';

const MAX_CONFIG_BYTES = 1024 * 1024;
/** Published adapters have ranks of up to 512. A rank above the width of a matrix adds nothing. */
const MAX_RANK = 8192;
/** Largest number of roles of one team, each with an adapter of its own. */
const MAX_ROLES = 1024;
const ADVICE = `choose a folder with ${ADAPTER_CONFIG_FILE} and ${ADAPTER_WEIGHTS_FILE}`;

/** PEFT's prefix for the names of tensors of the wrapped model. */
const PREFIX = 'base_model.model.';
const storedName = (name: string): string => PREFIX + name;

const settingsSchema = z.looseObject({
  peft_type: z.literal('LORA'),
  r: z.int().positive(),
  lora_alpha: z.number().positive(),
  target_modules: z.union([z.string(), z.array(z.string())]),
});

/** Keys of PEFT that change the computation if they are on. */
const UNSUPPORTED: readonly (readonly [key: string, meaning: string])[] = [
  ['use_dora', 'weight-decomposed adapters (DoRA)'],
  ['use_rslora', 'rank-stabilized scaling'],
  ['use_qalora', 'quantization-aware adapters'],
  ['fan_in_fan_out', 'transposed weights'],
  ['lora_bias', 'biases of the adapter'],
  ['modules_to_save', 'modules that are trained whole'],
  ['rank_pattern', 'separate ranks for some modules'],
  ['alpha_pattern', 'separate alphas for some modules'],
  ['layers_to_transform', 'an adapter on some layers only'],
  ['layer_replication', 'replicated layers'],
  ['exclude_modules', 'excluded modules'],
  ['target_parameters', 'adapters of single parameters'],
  ['trainable_token_indices', 'trained tokens'],
  ['alora_invocation_tokens', 'activation by tokens'],
  ['use_bdlora', 'block-diagonal factors'],
  ['arrow_config', 'routing between adapters'],
  ['kasa_config', 'knowledge-aware singular values'],
  ['monteclora_config', 'sampled adapters'],
  ['velora_config', 'compressed activations'],
];
const isOff = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === false ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0);

export interface StoredAdapters {
  readonly settings: AdapterSettings;
  /** The parameters by role; an adapter of the whole team is under WHOLE_TEAM. */
  readonly adapters: ReadonlyMap<string, Float32Array>;
  /** The snapshot that they were trained over, if the file names it. */
  readonly base: string | null;
}

/** Returns the settings with the keys of adapter_config.json. */
export const settingsToJson = ({ rank, alpha, targetModules }: AdapterSettings): Record<string, unknown> => ({
  peft_type: 'LORA',
  r: rank,
  lora_alpha: alpha,
  target_modules: ADAPTER_MODULES.filter((module) => targetModules.includes(module)),
});

/**
 * Reads adapter settings.
 * @param place name of their place in error messages
 * @param layers of the model; 1 suffices for files that `saveAdapterFile` wrote, which name modules of
 *   every layer
 * @throws C3Error('model') naming the key, for anything that the runtime does not compute as PEFT does
 * @throws C3Error('input') for an unknown target module
 */
export function parseAdapterSettings(text: string, place: string, layers = 1): AdapterSettings {
  const fail = (what: string): C3Error => new C3Error('model', `${place}: ${what}.`);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw fail(`this is not JSON (${toErrorMessage(error).replace(/\s+/g, ' ').slice(0, 200)})`);
  }
  const parsed = settingsSchema.safeParse(json);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw fail(
      `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not valid'}; a LoRA adapter has peft_type LORA, r, lora_alpha and a list or pattern of target_modules`,
    );
  }
  const unsupported = UNSUPPORTED.find(([key]) => !isOff(parsed.data[key]));
  if (unsupported !== undefined) {
    throw fail(`${unsupported[0]} asks for ${unsupported[1]}, which the runtime does not compute`);
  }
  if (parsed.data.r > MAX_RANK) {
    throw fail(
      `r: ${parsed.data.r} is more than the ${MAX_RANK} that the runtime supports; choose an adapter of a smaller rank`,
    );
  }
  const { bias } = parsed.data;
  if (!isOff(bias) && bias !== 'none') {
    throw fail('bias asks for trained biases, which the runtime does not compute');
  }
  return {
    rank: parsed.data.r,
    alpha: parsed.data.lora_alpha,
    targetModules: selectTargetModules(parsed.data.target_modules, layers, place),
  };
}

/** Returns the prefix of one role's tensors in a file of several roles. */
const rolePrefix = (index: number): string => `agent_${index}.`;

/**
 * Writes all adapters of a snapshot as one safetensors file, whole or not at all. Its metadata
 * holds settings, base and roles.
 * @throws C3Error('store')
 */
export async function saveAdapterFile(
  path: string,
  config: TransformerConfig,
  { settings, base }: AdapterOrigin,
  adapters: ReadonlyMap<string, Float32Array>,
): Promise<void> {
  const roles = [...adapters.keys()].sort();
  const named = roles.length !== 1 || roles[0] !== WHOLE_TEAM;
  const tensors = roles.flatMap((role, index) => {
    const parameters = adapters.get(role) ?? new Float32Array();
    return adapterViews(config, settings).map(({ name, shape, offset, length }) => ({
      name: (named ? rolePrefix(index) : '') + storedName(name),
      shape,
      data: parameters.subarray(offset, offset + length),
    }));
  });
  await writeFileAtomically(
    path,
    writeSafetensors(tensors, 'F32', {
      format: 'pt',
      c3_adapter: JSON.stringify(settingsToJson(settings)),
      c3_base: base,
      ...(named && { c3_agents: JSON.stringify(roles) }),
    }),
  );
}

/** Role names that can name a folder. Other roles get a number. */
const FOLDER_NAME = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/;

/**
 * Writes adapters as PEFT does, those of roles each into a subfolder.
 * @param baseModel folder or name of the base model for other programs
 * @returns the folders that hold one adapter each
 * @throws C3Error('store')
 */
export async function saveAdapters(
  folder: string,
  config: TransformerConfig,
  origin: AdapterOrigin,
  adapters: ReadonlyMap<string, Float32Array>,
  baseModel: string | null,
): Promise<string[]> {
  const json = {
    ...settingsToJson(origin.settings),
    task_type: 'CAUSAL_LM',
    base_model_name_or_path: baseModel,
    bias: 'none',
    lora_dropout: 0,
    fan_in_fan_out: false,
    use_dora: false,
    use_rslora: false,
    inference_mode: true,
  };
  const places = [...adapters].map(([role, parameters], index) => ({
    role,
    parameters,
    place: role === WHOLE_TEAM ? folder : join(folder, FOLDER_NAME.test(role) ? role : `agent-${index}`),
  }));
  for (const { role, parameters, place } of places) {
    try {
      await mkdir(place, { recursive: true });
    } catch (error) {
      throw new C3Error('store', `Cannot make the folder ${place}: ${toErrorMessage(error)}; choose another one.`, {
        cause: error,
      });
    }
    // The configuration is written last, so a folder that has one is complete.
    await saveAdapterFile(join(place, ADAPTER_WEIGHTS_FILE), config, origin, new Map([[WHOLE_TEAM, parameters]]));
    await writeFileAtomically(
      join(place, ADAPTER_CONFIG_FILE),
      Buffer.from(`${JSON.stringify(role === WHOLE_TEAM ? json : { ...json, c3_agent: role }, null, 2)}\n`),
    );
  }
  return places.map(({ place }) => place);
}

/**
 * Returns true for a file that `saveAdapterFile` wrote.
 * @throws C3Error('model') if it is not a safetensors file
 */
export async function isAdapterFile(path: string): Promise<boolean> {
  return SafetensorsFile.reading(path, ({ tensors }) =>
    Promise.resolve([...tensors.keys()].some((name) => name.includes(PREFIX))),
  );
}

/**
 * Reads a folder that PEFT or `saveAdapters` wrote: one adapter, or a folder for each role.
 * @throws C3Error('model') naming the file and the key or tensor
 */
export async function loadAdapters(folder: string, config: TransformerConfig): Promise<StoredAdapters> {
  if (existsSync(join(folder, ADAPTER_CONFIG_FILE))) {
    const { settings, parameters, base } = await loadAdapterFolder(folder, config);
    return { settings, adapters: new Map([[WHOLE_TEAM, parameters]]), base };
  }
  const below = (await readdir(folder).catch(() => []))
    .sort()
    .filter((name) => existsSync(join(folder, name, ADAPTER_CONFIG_FILE)));
  if (below.length === 0) {
    throw new C3Error(
      'model',
      `${folder} has no ${ADAPTER_CONFIG_FILE}, nor have the folders in it; choose a folder with ${ADAPTER_CONFIG_FILE} and ${ADAPTER_WEIGHTS_FILE}.`,
    );
  }
  const all = await Promise.all(below.map((name) => loadAdapterFolder(join(folder, name), config)));
  const [first = { settings: { rank: 1, alpha: 1, targetModules: [] }, base: null }] = all;
  const other = all.find(
    ({ settings, base }) =>
      JSON.stringify([settingsToJson(settings), base]) !== JSON.stringify([settingsToJson(first.settings), first.base]),
  );
  if (other !== undefined) {
    throw new C3Error(
      'model',
      `${other.folder} holds an adapter of other settings or over other weights than its neighbors; the adapters of one team share them.`,
    );
  }
  return {
    settings: first.settings,
    adapters: new Map(all.map(({ role, parameters }) => [role, parameters])),
    base: first.base,
  };
}

interface OneAdapter {
  readonly folder: string;
  readonly role: string;
  readonly settings: AdapterSettings;
  readonly parameters: Float32Array;
  readonly base: string | null;
}

const namedSchema = z.looseObject({ c3_agent: z.string().optional() });

async function loadAdapterFolder(folder: string, config: TransformerConfig): Promise<OneAdapter> {
  const path = join(folder, ADAPTER_CONFIG_FILE);
  const text = (await readModelFile(path, MAX_CONFIG_BYTES, ADVICE)).toString('utf8');
  const settings = parseAdapterSettings(text, path, config.layers);
  const named = namedSchema.safeParse(JSON.parse(text));
  if (!named.success) {
    throw new C3Error('model', `${path}: c3_agent: is not text; copy the adapter again from its source.`);
  }
  return SafetensorsFile.reading(
    join(folder, ADAPTER_WEIGHTS_FILE),
    async (file) => ({
      folder,
      role: named.data.c3_agent ?? basename(folder),
      settings,
      parameters: (await readAdapterParameters(file, config, settings, [''])).get('') ?? new Float32Array(),
      base: file.metadata['c3_base'] ?? null,
    }),
    ADVICE,
  );
}

/**
 * Reads a file that `saveAdapterFile` wrote.
 * @throws C3Error('model') naming the file and the tensor
 */
export async function loadAdapterFile(path: string, config: TransformerConfig): Promise<StoredAdapters> {
  return SafetensorsFile.reading(
    path,
    async (file) => {
      const { c3_adapter: settingsText, c3_agents: rolesText, c3_base: base } = file.metadata;
      if (settingsText === undefined) {
        throw new C3Error(
          'model',
          `${path} does not say what adapter it holds; choose the folder with its ${ADAPTER_CONFIG_FILE}.`,
        );
      }
      const settings = parseAdapterSettings(settingsText, path);
      const roles = rolesText === undefined ? null : parseRoles(rolesText, path);
      const prefixes = roles === null ? [''] : roles.map((_, index) => rolePrefix(index));
      const parameters = await readAdapterParameters(file, config, settings, prefixes);
      return {
        settings,
        adapters: new Map(
          prefixes.map((prefix, index) => [roles?.[index] ?? WHOLE_TEAM, parameters.get(prefix) ?? new Float32Array()]),
        ),
        base: base ?? null,
      };
    },
    ADVICE,
  );
}

function parseRoles(text: string, path: string): string[] {
  try {
    return z.array(z.string()).min(1).max(MAX_ROLES).parse(JSON.parse(text));
  } catch (error) {
    throw new C3Error('model', `${path}: the list of roles cannot be read; copy the adapter again from its source.`, {
      cause: error,
    });
  }
}

/**
 * Reads the flat vectors of the adapters in a file, one for each prefix. It checks all tensors before
 * it reads any; every tensor must belong to an adapter.
 */
async function readAdapterParameters(
  file: SafetensorsFile,
  config: TransformerConfig,
  settings: AdapterSettings,
  prefixes: readonly string[],
): Promise<Map<string, Float32Array>> {
  const { path, tensors } = file;
  const views = adapterViews(config, settings);
  const known = new Set<string>();
  for (const prefix of prefixes) {
    for (const view of views) {
      const name = prefix + storedName(view.name);
      checkTensor(tensors.get(name), name, view, settings, path);
      known.add(name);
    }
  }
  const surplus = [...tensors.keys()].find((name) => !known.has(name));
  if (surplus !== undefined) {
    throw new C3Error(
      'model',
      `${path}: tensor ${JSON.stringify(surplus.slice(0, 100))} belongs to no target module of this model; choose the model that the adapter was trained over.`,
    );
  }
  const result = new Map<string, Float32Array>();
  for (const prefix of prefixes) {
    const parameters = new Float32Array(adapterParameterCount(config, settings));
    for (const { name, shape, offset, length } of views) {
      await file.read({ name: prefix + storedName(name), shape, into: parameters.subarray(offset, offset + length) });
    }
    result.set(prefix, parameters);
  }
  return result;
}

/**
 * Checks that a tensor exists and has the right shape.
 * @throws C3Error('model')
 */
function checkTensor(
  tensor: StoredTensor | undefined,
  name: string,
  { name: own, shape }: ParameterView,
  { rank }: AdapterSettings,
  path: string,
): void {
  if (tensor === undefined) {
    throw new C3Error(
      'model',
      `${path}: tensor ${name} is missing; choose the model that the adapter was trained over.`,
    );
  }
  if (tensor.shape.join('x') === shape.join('x')) {
    return;
  }
  const axis = own.endsWith('.lora_A.weight') ? 0 : 1;
  const why =
    tensor.shape.length === 2 && tensor.shape[axis] !== rank
      ? `its rank is not ${rank} as ${ADAPTER_CONFIG_FILE} says`
      : 'the adapter was trained over another model';
  throw new C3Error(
    'model',
    `${path}: tensor ${name} has shape [${tensor.shape.join(', ')}] where [${shape.join(', ')}] is needed: ${why}.`,
  );
}

// The matrices that a PEFT adapter targets: names, ends of names, a pattern, or `all-linear`.

/** PEFT's name for every linear layer except the output projection. */
const ALL_LINEAR = 'all-linear';
const MAX_PATTERN = 2000;
/** Modules that a pattern could match but that cannot have factors here. */
const OTHERS = ['lm_head', 'model.embed_tokens', 'model.norm'];

const fullName = (module: AdapterModule, layer: number): string =>
  `model.layers.${layer}.${/^(?:gate|up|down)_/u.test(module) ? 'mlp' : 'self_attn'}.${module}`;

/**
 * Returns the modules that `target_modules` selects, as PEFT reads it. A text is `all-linear` or a
 * regular expression (in the syntax of RE2) that matches the whole name of a module. In a list,
 * each entry is a name or the end of one.
 * @param layers of the model
 * @throws C3Error('input') for an entry that is not a module
 * @throws C3Error('model') for a pattern that is invalid, matches nothing, or does not match the
 *   same modules in every layer
 */
export function selectTargetModules(
  targets: string | readonly string[],
  layers: number,
  place: string,
): AdapterModule[] {
  if (targets === ALL_LINEAR) {
    return [...ADAPTER_MODULES];
  }
  const isPattern = typeof targets === 'string';
  const matches = isPattern ? compileTargetPattern(targets, place) : endsWithOneOf(targets);
  // In the order of the list.
  const named = isPattern
    ? ADAPTER_MODULES
    : parseAdapterModules(
        targets.map((end) => findModuleByEnd(end, layers) ?? end),
        place,
      );
  const asks = (what: string): C3Error =>
    new C3Error('model', `${place}: target_modules ${what}, which the runtime does not compute.`);
  const other = OTHERS.find(matches);
  if (other !== undefined) {
    throw asks(`matches ${other}`);
  }
  const found = [...new Set(named)].filter((module) => {
    const count = Array.from({ length: layers }, (_, layer) => fullName(module, layer)).filter(matches).length;
    if (count > 0 && count < layers) {
      throw asks(`asks for ${module} in ${count} of ${layers} layers`);
    }
    return count > 0;
  });
  if (found.length === 0) {
    throw new C3Error(
      'model',
      `${place}: target_modules: no matrix of this model matches ${JSON.stringify(targets).slice(0, 100)}; choose the model that the adapter was trained over.`,
    );
  }
  return found;
}

type Matches = (name: string) => boolean;

function compileTargetPattern(source: string, place: string): Matches {
  try {
    const pattern = RE2JS.compile(source.slice(0, MAX_PATTERN));
    return (name) => pattern.matches(name);
  } catch (error) {
    throw new C3Error(
      'model',
      `${place}: target_modules is not a valid regular expression (${toErrorMessage(error).replaceAll(/\s+/gu, ' ').slice(0, 200)}); name the modules in a list.`,
      { cause: error },
    );
  }
}

const isEnd = (name: string, end: string): boolean => name === end || name.endsWith(`.${end}`);

const endsWithOneOf =
  (ends: readonly string[]): Matches =>
  (name) =>
    ends.some((end) => isEnd(name, end));

/** Returns the module whose full name in some layer ends with `end`. */
const findModuleByEnd = (end: string, layers: number): AdapterModule | undefined =>
  ADAPTER_MODULES.find((module) =>
    Array.from({ length: layers }, (_, layer) => fullName(module, layer)).some((name) => isEnd(name, end)),
  );

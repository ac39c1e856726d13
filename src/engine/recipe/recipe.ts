/** A run's recipe: its configuration with all named files resolved, as the store keeps it for replays. */

import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import type { Problem } from '../../domain/problem.ts';
import { isAgreement, JUDGE_KEY, REPLACEMENT_KEY, type JudgeAgreement, type Replacement } from '../../domain/run.ts';
import { readRegular } from '../../files/regularFile.ts';
import { probeSchema, type EndpointProbe } from '../../policy/endpoint/endpointPolicy.ts';
import { renderingSchema, type Rendering } from '../../policy/rendering.ts';
import { C3Error, toErrorMessage, type ErrorAction } from '../../shared/errors.ts';
import { JUDGE_ROLE, type RolePolicySettings } from '../../shared/rolePolicies.ts';
import { isBundledName } from '../../shared/runNames.ts';
import { describeAbsentPath, type NamedPath } from '../../shared/text/namedPaths.ts';
import { MAX_YAML_BYTES } from '../../shared/text/yaml.ts';
import type { StoreReader } from '../../store/types.ts';
import { loadProblems } from '../../tasks/files/load.ts';
import { sliced, slicedSides } from '../../tasks/files/slices.ts';
import { holdOut } from '../../tasks/holdOut.ts';
import { describeOverlap, overlapReport, refuseOverlap } from '../../tasks/overlap.ts';
import type { Side } from '../../tasks/split.ts';
import type { KeyPath } from '../../team/document.ts';
import { parseProtocol } from '../../team/parseProtocol.ts';
import { findPromptsFault, replacePrompts } from '../../team/prompts.ts';
import type { Protocol } from '../../team/protocol.ts';
import { configSchema, getRunRounds, type RunConfig } from '../../training/config/config.ts';
import { normalizeConfig } from '../../training/config/configFaults.ts';
import type { PublishedFacts } from '../../training/config/published/publishedRow.ts';
import { readConfigDocument, type ConfigDocument } from '../../training/config/readConfig.ts';
import { addEarlierKeys, removeEarlierKeys } from '../../training/config/storedConfig.ts';
import { findSamplingFault } from '../../training/iteration.ts';
import { findExternalFault } from '../../training/keys/externalKeys.ts';
import { findPoliciesFault } from '../../training/policies.ts';
import { findBundledProtocol, resolveModelFolder } from '../places.ts';
import { generateBundledQuestions } from './questions.ts';

export interface Recipe {
  readonly config: RunConfig;
  /** Folder that the configuration's relative paths start from. */
  readonly folder: string;
  readonly modelFolder: string;
  readonly protocolText: string;
  readonly protocolSource: string;
  /** Remarks for the user on a file of the published scripts, one line each; not stored. */
  readonly notes?: readonly string[];
  /** Actions that open the line of a role's or the judge's endpoint, by role; not stored. */
  readonly places?: Readonly<Record<string, ErrorAction>>;
}

const fingerprintSchema = z.object({
  train: z.string(),
  evaluation: z.string(),
  tokenizer: z.string(),
  template: z.string().nullable().default(null),
});

/**
 * SHA-256 (hex) of the problems in order, of the tokenizer's files, and of the chat template, if one
 * is used. The weights have a hash of their own: that of the snapshot.
 */
export type Fingerprint = z.infer<typeof fingerprintSchema>;

const roleWeightsSchema = z.object({
  folder: z.string(),
  snapshot: z.string(),
  run: z.string().nullable(),
  tokenizer: z.string(),
  template: z.string().nullable(),
  rendering: renderingSchema.nullable(),
});

/**
 * The untrained weights that answer for a role: their model folder, their hash, and the run that
 * trained them, if any. Tokenizer and template are hashed as in a fingerprint. The rendering is null
 * if contexts are written as for the run's own model.
 */
export type RoleWeights = z.infer<typeof roleWeightsSchema>;

/** A recipe as it is stored in a run's row. */
export interface StoredRecipe extends Recipe {
  /** Null in runs of versions that did not store it. */
  readonly fingerprint: Fingerprint | null;
  /** The rendering of contexts; null in runs of versions that did not store it, which wrote plain text. */
  readonly rendering: Rendering | null;
  /** Weights of roles that do not use the run's own model, if there are any. */
  readonly roles?: Readonly<Record<string, RoleWeights>> | undefined;
  /** Probes of the servers that answer for roles, if there are any. */
  readonly endpoints?: Readonly<Record<string, EndpointProbe>> | undefined;
  /** Agreement of the model judge before the run, if a judge scores. */
  readonly [JUDGE_KEY]?: JudgeAgreement | undefined;
}

const storedSchema = z.object({
  config: z.preprocess(addEarlierKeys, configSchema.transform(normalizeConfig)),
  folder: z.string(),
  modelFolder: z.string(),
  protocolText: z.string(),
  protocolSource: z.string(),
  fingerprint: fingerprintSchema.nullable().default(null),
  rendering: renderingSchema.nullable().default(null),
  roles: z.record(z.string(), roleWeightsSchema).optional(),
  endpoints: z.record(z.string(), probeSchema).optional(),
  [JUDGE_KEY]: z.custom<JudgeAgreement>(isAgreement).optional(),
});

/**
 * Reads a configuration file and the files that it names.
 * @param path a *.c3.yaml, or null for the defaults of the bundled team
 * @param complete true if its model folder and data files must exist
 * @param text unsaved text of an editor, used instead of the file on disk
 * @throws C3Error('input') naming file, line and key
 */
export async function readRecipe(
  path: string | null,
  overrides: readonly string[],
  currentFolder: string,
  { complete = true, text }: { readonly complete?: boolean; readonly text?: string | undefined } = {},
): Promise<Recipe> {
  const { document, source, folder } = await readConfiguration(path, overrides, currentFolder, text);
  const { config, notes } = document;
  if (complete) {
    await checkPaths(document, folder);
  }
  const protocolSource =
    config.protocol === 'bundled'
      ? findBundledProtocol(config.task.name, config.task.roles)
      : resolve(folder, config.protocol);
  const protocolText = await readText(protocolSource, 'name an existing protocol file');
  const written = parseProtocol(protocolText, protocolSource, getRunRounds(config));
  const misprint = findPromptsFault(written, config.prompts);
  if (misprint !== null) {
    throw document.error(misprint.path, misprint.sentence);
  }
  const protocol = replacePrompts(written, config.prompts ?? {});
  const stranger = findPoliciesFault(config, protocol);
  if (stranger !== null) {
    throw document.error(stranger.path, stranger.sentence);
  }
  const unread = findExternalFault(config, protocol);
  if (unread !== null) {
    throw document.error(['external'], unread);
  }
  const fault = findSamplingFault(config, protocol);
  const action = document.error(['fanout'], '').action ?? undefined;
  if (fault !== null) {
    throw new C3Error('input', `${source}: ${fault}`, { action });
  }
  return {
    config,
    folder,
    modelFolder: resolveModelFolder(config.model, config.task.name, folder),
    protocolText,
    protocolSource,
    ...(notes.length > 0 && { notes }),
    places: listEndpointActions(document),
  };
}

function listEndpointActions({
  config: { policies = {}, scorer },
  error,
}: ConfigDocument): NonNullable<Recipe['places']> {
  const named: readonly (readonly [role: string, holder: KeyPath, policy: RolePolicySettings | undefined])[] = [
    ...Object.entries(policies).map(([role, policy]) => [role, ['policies', role], policy] as const),
    [JUDGE_ROLE, ['scorer', 'judge'], scorer?.judge],
  ];
  return Object.fromEntries(
    named.flatMap(([role, holder, policy]) => {
      // Settings of the command line have no line in a file.
      const action = policy?.kind === 'endpoint' ? error([...holder, 'endpoint'], '').action : null;
      return action === null ? [] : [[role, action] as const];
    }),
  );
}

/**
 * Reads a configuration file without the files that it names.
 * @param path a *.c3.yaml, a YAML of the published scripts, or null for the defaults of the bundled
 *   team
 * @throws C3Error('input') naming file, line and key
 */
export async function readConfiguration(
  path: string | null,
  overrides: readonly string[],
  currentFolder: string,
  unsaved?: string,
): Promise<{ readonly document: ConfigDocument; readonly source: string; readonly folder: string }> {
  const file = path === null ? null : resolve(currentFolder, path);
  const text = unsaved ?? (file === null ? '' : await readText(file, 'choose an existing configuration'));
  const source = file ?? 'the bundled configuration';
  const folder = file === null ? currentFolder : dirname(file);
  return { document: readConfigDocument(text, source, overrides, createFactsReader(folder)), source, folder };
}

/** @throws C3Error('input') at the key of the first missing path, as in the editor's Problems panel */
async function checkPaths(
  { config: { model, protocol, begin, policies = {}, scorer, task, evaluation, output }, error }: ConfigDocument,
  folder: string,
): Promise<void> {
  const named: readonly (readonly [key: KeyPath, names: NamedPath, path: string | null])[] = [
    [['model'], 'folder', isBundledName(model) ? null : model],
    [['protocol'], 'protocol', protocol === 'bundled' ? null : protocol],
    [['begin', 'replace', 'with'], 'folder', begin?.replace?.with ?? null],
    ...Object.entries(policies).flatMap(([role, policy]) => [
      [['policies', role, 'adapter'], 'folder', policy.kind === 'adapter' ? policy.adapter : null] as const,
      [
        ['policies', role, 'model'],
        'folder',
        policy.kind === 'model' && !isBundledName(policy.model) ? policy.model : null,
      ] as const,
    ]),
    [['scorer', 'labels'], 'rows', scorer?.labels ?? null],
    [['task', 'train_file'], 'rows', task.train_file],
    [['task', 'evaluation_file'], 'rows', evaluation.instances === 0 ? null : task.evaluation_file],
  ];
  for (const [key, names, path] of named) {
    if (path === null) {
      continue;
    }
    const place = resolve(folder, path);
    const found = await stat(place).catch(() => null);
    if (found === null || found.isDirectory() !== (names === 'folder')) {
      throw error(key, `${describeAbsentPath(names, place)}.`);
    }
  }
  // Checked before the run, because at its end the weights could not be saved.
  if (output.save_model && output.save_path !== null) {
    const there = await readdir(resolve(folder, output.save_path)).catch(() => []);
    if (there.length > 0) {
      throw error(
        ['output', 'save_path'],
        'names a folder that is not empty; choose a new one, nothing there is overwritten.',
      );
    }
  }
}

export const serializeRecipe = (
  { notes: _, places: __, ...recipe }: Recipe,
  fingerprint: Fingerprint,
  rendering: Rendering,
  {
    roles = {},
    endpoints = {},
    replacement = null,
    agreement = null,
  }: {
    readonly roles?: Readonly<Record<string, RoleWeights>> | undefined;
    readonly endpoints?: Readonly<Record<string, EndpointProbe>> | undefined;
    readonly replacement?: Replacement | null | undefined;
    readonly agreement?: JudgeAgreement | null | undefined;
  } = {},
): string =>
  JSON.stringify({
    ...recipe,
    config: removeEarlierKeys(recipe.config),
    fingerprint,
    rendering,
    ...(Object.keys(roles).length > 0 && { roles }),
    ...(Object.keys(endpoints).length > 0 && { endpoints }),
    ...(replacement !== null && { [REPLACEMENT_KEY]: replacement }),
    ...(agreement !== null && { [JUDGE_KEY]: agreement }),
  } satisfies Omit<StoredRecipe, 'config'> & { readonly config: unknown });

/** Returns the folder that `model` of a role's policy names. */
export const resolveRoleModelFolder = ({ config, folder }: Pick<Recipe, 'config' | 'folder'>, name: string): string =>
  resolveModelFolder(name, config.task.name, folder);

/** Returns the untrained weights that answer for a role; undefined if the run's own model does. */
export const findRoleWeights = ({ roles = {} }: StoredRecipe, role: string): RoleWeights | undefined =>
  Object.hasOwn(roles, role) ? roles[role] : undefined;

/** Parses a stored run's recipe. @throws C3Error('store') if it cannot be read */
export function parseRecipe(text: string, run: string): StoredRecipe {
  try {
    return storedSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new C3Error(
      'store',
      `The configuration of run ${run} cannot be read: ${describeParseError(error)}; it was written by another version.`,
      { cause: error },
    );
  }
}

function describeParseError(error: unknown): string {
  const issue = error instanceof z.ZodError ? error.issues[0] : undefined;
  return issue === undefined
    ? (toErrorMessage(error).split('\n')[0] ?? '')
    : `${issue.path.join('.')}: ${issue.message}`;
}

export const parseRecipeProtocol = ({ protocolText, protocolSource, config }: Recipe): Protocol =>
  replacePrompts(parseProtocol(protocolText, protocolSource, getRunRounds(config)), config.prompts ?? {});

/** Returns the protocol of a stored run. @throws C3Error('input') for an unknown run */
export function readRunProtocol(store: Pick<StoreReader, 'runConfig'>, run: string): Protocol {
  return parseRecipeProtocol(parseRecipe(store.runConfig(run), run));
}

export interface RunData {
  readonly train: readonly Problem[];
  readonly evaluation: readonly Problem[];
  /** Remarks for the user on the data, one line each. */
  readonly remarks: readonly string[];
}

/**
 * Loads the problems that a recipe trains and evaluates on.
 * @throws C3Error('input') for unreadable or overlapping data
 */
export async function loadData({ config, folder }: Recipe): Promise<RunData> {
  const { task, evaluation } = config;
  if (task.train_file === null) {
    const split = generateBundledQuestions(config, Math.max(1, config.steps * config.instances_per_step));
    refuseOverlap(overlapReport(split.train, split.evaluation));
    return { ...split, remarks: [] };
  }
  const remarks: string[] = [];
  const load = async (name: string, limit?: number): Promise<Problem[]> => {
    const path = resolve(folder, name);
    const { problems, duplicates, contradicted, formats } = await loadProblems(path, {
      format: task.format,
      showTests: task.show_tests,
      ...(limit === undefined ? {} : { limit }),
    });
    remarks.push(
      `${path}: ${problems.length} problems, read as ${[...formats].map(([format, rows]) => (formats.size === 1 ? format : `${format} (${rows})`)).join(', ')}.`,
    );
    if (duplicates > 0) {
      remarks.push(`${path}: ${duplicates} repeated questions were left out.`);
    }
    if (contradicted.length > 0) {
      remarks.push(
        `${path}: ${contradicted.length} of them have a different answer from the one that was kept, first ${JSON.stringify(contradicted[0])}.`,
      );
    }
    return problems;
  };
  const all = await load(task.train_file);
  let train = task.train_split === null ? all : sliced(all, task.train_split, 'task.train_split');
  let held: Problem[] = [];
  const compare = (): void => {
    const overlap = overlapReport(train, held);
    if (task.refuse_overlap) {
      refuseOverlap(overlap);
    }
    remarks.push(...describeOverlap(overlap));
  };
  if (task.evaluation_file !== null && evaluation.instances > 0) {
    held =
      task.evaluation_split === null
        ? await load(task.evaluation_file, evaluation.instances)
        : sliced(await load(task.evaluation_file), task.evaluation_split, 'task.evaluation_split').slice(
            0,
            evaluation.instances,
          );
    compare();
  } else if (task.evaluation_file === null && task.evaluation_split !== null) {
    const sides = slicedSides(all, { train: task.train_split, evaluation: task.evaluation_split });
    train = sides.train;
    held = sides.evaluation.slice(0, evaluation.instances);
    compare();
  } else if (task.split !== null) {
    const sides = holdOut(all, task.split.evaluation, task.split.seed);
    train = sides.train;
    held = sides.evaluation.slice(0, evaluation.instances);
    if (train.length === 0 && config.steps > 0) {
      throw new C3Error(
        'input',
        `task.split leaves none of the ${all.length} questions to train on; lower task.split.evaluation.`,
      );
    }
    remarks.push(describeSplit(sides, held.length));
  } else if (evaluation.instances > 0) {
    const given = train;
    held = given.slice(0, Math.min(evaluation.instances, Math.floor(given.length / 4)));
    train = given.slice(held.length);
    remarks.push(
      held.length === 0
        ? 'No task.evaluation_file, and too few problems to hold some out: nothing is evaluated.'
        : `No task.evaluation_file: the first ${held.length} problems are held out for evaluation.`,
    );
  }
  if (config.steps > 0 && train.length < config.instances_per_step) {
    remarks.push(
      `${train.length} training problems are fewer than instances_per_step (${config.instances_per_step}): every step takes all of them.`,
    );
  }
  return { train, evaluation: held, remarks };
}

/** Describes the two parts of a file that was split. */
function describeSplit({ train, evaluation }: Readonly<Record<Side, readonly Problem[]>>, evaluated: number): string {
  const held = evaluation.length.toLocaleString('en');
  const first =
    evaluated === evaluation.length ? '' : `, of which the first ${evaluated.toLocaleString('en')} are evaluated`;
  return `task.split: ${train.length.toLocaleString('en')} questions are trained on, ${held} are held out${first}.`;
}

async function readText(path: string, advice: string): Promise<string> {
  return (await readRegular(path, MAX_YAML_BYTES, advice)).toString('utf8');
}

// Checks on disk the names in a file of the published scripts.

const CHUNK_BYTES = 1 << 20;
const LINE_BREAK = 0x0a;
const BLANKS: readonly number[] = [0x20, 0x09, 0x0d];

/** @param folder that relative names start from */
const createFactsReader = (folder: string): PublishedFacts => ({
  isFolder: (path) => statIfPresent(resolve(folder, path))?.isDirectory() === true,
  problemsIn: (path) => {
    const place = resolve(folder, path);
    return statIfPresent(place)?.isFile() === true ? countFilledLines(place) : null;
  },
});

const statIfPresent = (path: string): ReturnType<typeof statSync> => statSync(path, { throwIfNoEntry: false });

/** Counts the lines that are not blank, each of which is a problem. */
function countFilledLines(path: string): number {
  const file = openSync(path, 'r');
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    let [lines, filled] = [0, false];
    for (let read = readSync(file, chunk); read > 0; read = readSync(file, chunk)) {
      for (const byte of chunk.subarray(0, read)) {
        if (byte === LINE_BREAK) {
          lines += filled ? 1 : 0;
          filled = false;
        } else {
          filled ||= !BLANKS.includes(byte);
        }
      }
    }
    return lines + (filled ? 1 : 0);
  } finally {
    closeSync(file);
  }
}

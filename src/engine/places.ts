/** Paths of files that are part of the product, when run from source or from the bundle. */

import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SandboxPlaces } from '../evaluate/python/sandbox/sandboxProcess.ts';
import type { TextPlaces } from '../policy/textProcess.ts';
import { C3Error } from '../shared/errors.ts';
import {
  BUNDLED_MODEL,
  findBundledModelFault,
  hasSmallTeam,
  hasTeam,
  SMALL_MODEL,
  TEAM_SIZES,
  type SmallTeamTask,
  type TaskName,
  type TeamTask,
} from '../shared/runNames.ts';

const FROM_SOURCE = import.meta.url.endsWith('.ts');

/** Entry of the worker thread that runs the models. */
export const WORKER_ENTRY = new URL(FROM_SOURCE ? './worker.ts' : './worker.js', import.meta.url);

/** Entry of the engine's own process. */
export const ENGINE_ENTRY = new URL(FROM_SOURCE ? './main.ts' : './engine.js', import.meta.url);

/** The suites of `c3 bench`. */
export const BENCH_ENTRY = new URL(FROM_SOURCE ? '../bench/suites.ts' : './bench.js', import.meta.url);

/** Entry of the process that examines a provider. */
export const PROBE_ENTRY = new URL(FROM_SOURCE ? './probe.ts' : './probe.js', import.meta.url);

/**
 * Places of the process that works with tokenizers and chat templates of users' models. Its bundle is
 * in a folder of its own, which is the only folder that the process may read.
 */
export const TEXT_PLACES: TextPlaces = {
  entry: new URL(FROM_SOURCE ? './text.ts' : './text/text.mjs', import.meta.url),
  readable: fileURLToPath(new URL(FROM_SOURCE ? '../..' : './text', import.meta.url)),
};

/** Entry of the process that examines a store. */
export const EXAMINE_ENTRY = new URL(FROM_SOURCE ? './examineStore.ts' : './examineStore.js', import.meta.url);

/** Entry of the process that reads LangGraph's checkpoints. */
export const CHECKPOINTS_ENTRY = new URL(
  FROM_SOURCE ? './readCheckpoints.ts' : './readCheckpoints.js',
  import.meta.url,
);

/** The bundled extension; from source, the one that was built last. */
export const EXTENSION_BUNDLE = fileURLToPath(
  new URL(FROM_SOURCE ? '../../dist/extension.cjs' : './extension.cjs', import.meta.url),
);

/** Places of the process that runs untrusted Python, and of its interpreter. */
export const SANDBOX_PLACES: SandboxPlaces = {
  entry: new URL(FROM_SOURCE ? '../evaluate/python/sandbox/sandbox.ts' : './sandbox/sandbox.mjs', import.meta.url),
  pyodide: findPackageFolder('pyodide'),
  image: FROM_SOURCE ? null : new URL('./sandbox/image.bin', import.meta.url),
};

const TEAM_FOLDERS: Readonly<Record<TeamTask, string>> = {
  arithmetic: 'team',
  python: 'team-python',
  dealer: 'team-dealer',
  functions: 'team-functions-turns',
  logic: 'team-logic',
  chain: 'team-chain',
  hints: 'team-hints',
};
/** Teams with about half of the weights. */
const SMALL_TEAM_FOLDERS: Readonly<Record<SmallTeamTask, string>> = { logic: 'team-logic-small' };
/** Teams of earlier versions; stored runs that began with them name their folders. */
const EARLIER_TEAM_FOLDERS = ['team-functions'];

const toMediaPath = (folder: string): string =>
  fileURLToPath(new URL(`${FROM_SOURCE ? '../../media' : '../media'}/${folder}`, import.meta.url));

/**
 * Returns the folder of the team that is bundled with a task: weights, tokenizer and protocol.
 * @throws C3Error('input') for a task without a bundled team
 */
export function findBundledTeam(task: TaskName): string {
  if (!hasTeam(task)) {
    throw new C3Error('input', `Task ${task} comes without a team; name the folder of a model with the key model.`);
  }
  return toMediaPath(TEAM_FOLDERS[task]);
}

/**
 * Returns the folder of the smaller team that is bundled with a task: weights and tokenizer. Its
 * protocol is that of the larger team.
 * @throws C3Error('input') for a task without a smaller team
 */
export function findSmallTeam(task: TaskName): string {
  if (!hasSmallTeam(task)) {
    throw new C3Error('input', `model: ${findBundledModelFault(SMALL_MODEL, task) ?? ''}`);
  }
  return toMediaPath(SMALL_TEAM_FOLDERS[task]);
}

/**
 * Returns the folder of the model that a configuration names: a bundled model by its name, or else a
 * path.
 * @param folder that relative paths start from
 * @throws C3Error('input') for a bundled model that the task does not have
 */
export function resolveModelFolder(name: string, task: TaskName, folder: string): string {
  switch (name) {
    case BUNDLED_MODEL:
      return findBundledTeam(task);
    case SMALL_MODEL:
      return findSmallTeam(task);
    default:
      return resolve(folder, name);
  }
}

/** Returns the folders of all bundled teams, including those of earlier versions. */
export const listBundledTeams = (): readonly string[] =>
  [...Object.values(TEAM_FOLDERS), ...Object.values(SMALL_TEAM_FOLDERS), ...EARLIER_TEAM_FOLDERS].map(toMediaPath);

/** Returns the protocol of a bundled task. @param roles one of the task's TEAM_SIZES */
export function findBundledProtocol(task: TaskName, roles: number): string {
  const file = `${roles === TEAM_SIZES[task][0] ? '' : `-${roles}`}.json`;
  return hasTeam(task) ? join(findBundledTeam(task), `protocol${file}`) : toMediaPath(`protocols/${task}${file}`);
}

/** The driver of programs that have no driver of their own. */
export const PROGRAM_DRIVER = toMediaPath('drivers/program.mjs');

/** The product's package.json; it is in the parent folder of the sources and of the bundles. */
export const PACKAGE_FILE = fileURLToPath(
  new URL(FROM_SOURCE ? '../../package.json' : '../package.json', import.meta.url),
);

/** Default path of a store, relative to the workspace or the current folder. */
export const DEFAULT_STORE = '.c3/c3.sqlite';

/** Returns the folder of a package that is read and never imported, or null if not installed. */
function findPackageFolder(name: string): string | null {
  try {
    return dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
  } catch {
    return null;
  }
}

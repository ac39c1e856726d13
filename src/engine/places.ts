/** Where the engine finds what comes with the product, run from source or from the bundle. */
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SandboxPlaces } from '../evaluate/python/sandbox/sandboxProcess.ts';
import type { TextPlaces } from '../policy/textProcess.ts';
import { C3Error } from '../shared/errors.ts';
import {
  BUNDLED_MODEL,
  bundledModelFault,
  hasSmallTeam,
  hasTeam,
  SMALL_MODEL,
  TEAM_SIZES,
  type SmallTeamTask,
  type TaskName,
  type TeamTask,
} from '../shared/runNames.ts';

const FROM_SOURCE = import.meta.url.endsWith('.ts');

/** Entry of the worker thread. */
export const WORKER_ENTRY = new URL(FROM_SOURCE ? './worker.ts' : './worker.js', import.meta.url);

/** Entry of the engine's own process. */
export const ENGINE_ENTRY = new URL(FROM_SOURCE ? './main.ts' : './engine.js', import.meta.url);

/** The suites of `c3 bench`. */
export const BENCH_ENTRY = new URL(FROM_SOURCE ? '../bench/suites.ts' : './bench.js', import.meta.url);

/** Entry of the process that examines a provider. */
export const PROBE_ENTRY = new URL(FROM_SOURCE ? './probe.ts' : './probe.js', import.meta.url);

/**
 * The process that works with tokenizers and chat templates of others: its bundle lies in a folder of its own, the only
 * one that it may read.
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

/** The bundled extension; from source, what was built last. */
export const EXTENSION_BUNDLE = fileURLToPath(
  new URL(FROM_SOURCE ? '../../dist/extension.cjs' : './extension.cjs', import.meta.url),
);

/** The process that runs Python of others, and its interpreter. */
export const SANDBOX_PLACES: SandboxPlaces = {
  entry: new URL(FROM_SOURCE ? '../evaluate/python/sandbox/sandbox.ts' : './sandbox/sandbox.mjs', import.meta.url),
  pyodide: packageFolder('pyodide'),
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
/** Of about half of the weights. */
const SMALL_TEAM_FOLDERS: Readonly<Record<SmallTeamTask, string>> = { logic: 'team-logic-small' };
/** Of earlier versions: stored runs that began with them name their folders. */
const EARLIER_TEAM_FOLDERS = ['team-functions'];

const inMedia = (folder: string): string =>
  fileURLToPath(new URL(`${FROM_SOURCE ? '../../media' : '../media'}/${folder}`, import.meta.url));

/**
 * The folder of the team that comes with a bundled task: weights, tokenizer, protocol.
 * @throws C3Error('input') for a task without one
 */
export function bundledTeam(task: TaskName): string {
  if (!hasTeam(task)) {
    throw new C3Error('input', `Task ${task} comes without a team; name the folder of a model with the key model.`);
  }
  return inMedia(TEAM_FOLDERS[task]);
}

/**
 * The folder of the smaller team that comes with a bundled task: weights and tokenizer; the protocol is the other's.
 * @throws C3Error('input') for a task without one
 */
export function smallTeam(task: TaskName): string {
  if (!hasSmallTeam(task)) {
    throw new C3Error('input', `model: ${bundledModelFault(SMALL_MODEL, task) ?? ''}`);
  }
  return inMedia(SMALL_TEAM_FOLDERS[task]);
}

/**
 * The folder that a configuration names as a model: one that comes with the product by its name, else a path.
 * @param folder that paths are relative to
 * @throws C3Error('input') for a task that such a model does not come with
 */
export function namedModel(name: string, task: TaskName, folder: string): string {
  switch (name) {
    case BUNDLED_MODEL:
      return bundledTeam(task);
    case SMALL_MODEL:
      return smallTeam(task);
    default:
      return resolve(folder, name);
  }
}

/** The folders of all teams that come with the product, those that new runs no longer begin with among them. */
export const bundledTeams = (): readonly string[] =>
  [...Object.values(TEAM_FOLDERS), ...Object.values(SMALL_TEAM_FOLDERS), ...EARLIER_TEAM_FOLDERS].map(inMedia);

/** The protocol of a bundled task that has so many roles: one of its TEAM_SIZES. */
export function bundledProtocol(task: TaskName, roles: number): string {
  const file = `${roles === TEAM_SIZES[task][0] ? '' : `-${roles}`}.json`;
  return hasTeam(task) ? join(bundledTeam(task), `protocol${file}`) : inMedia(`protocols/${task}${file}`);
}

/** The driver of programs that have none of their own. */
export const PROGRAM_DRIVER = inMedia('drivers/program.mjs');

/** The package's own description; it lies beside the sources and beside the bundles. */
export const PACKAGE_FILE = fileURLToPath(
  new URL(FROM_SOURCE ? '../../package.json' : '../package.json', import.meta.url),
);

/** Where a store lies unless set otherwise, below the workspace or the current folder. */
export const DEFAULT_STORE = '.c3/c3.sqlite';

/** Where a package lies that is read and never imported; null where it is not installed. */
function packageFolder(name: string): string | null {
  try {
    return dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
  } catch {
    return null;
  }
}

/**
 * `c3 bench activation`: the time from loading the extension's bundle to the end of activation.
 * Every turn is a separate Node.js process that loads the bundle with an empty stand-in for the API
 * of the editor. The work of the editor itself is not measured.
 */

import { execFile } from 'node:child_process';
import { existsSync, rmSync, statSync } from 'node:fs';
import { promisify } from 'node:util';
import { EXTENSION_BUNDLE } from '../../engine/places.ts';
import { createTemporaryFolder } from '../../files/temporaryFolder.ts';
import { C3Error, CancelledError } from '../../shared/errors.ts';
import { isRecord } from '../../shared/guard.ts';
import {
  makeFigure,
  describeHardware,
  takeMedian,
  takeQuantile,
  type BenchOptions,
  type BenchReport,
} from '../report.ts';

const TURNS = 21;
const QUICK_TURNS = 7;
const TURN_TIMEOUT = 60_000;

/** Milliseconds that activation may take. */
const GOAL = 100;

/**
 * The program of one turn. Its arguments are the bundle and an empty folder. Every member of the
 * stand-in exists and can be called, constructed and read, and returns another stand-in. Lists are
 * empty, settings have their defaults, and every path is the empty folder.
 */
export const ACTIVATION_PROGRAM = `
const Module = require('node:module');
const fixed = {
  [Symbol.toPrimitive]: () => '',
  [Symbol.iterator]: () => [].values(),
  then: undefined,
  fsPath: process.argv[2],
};
const inert = () => new Proxy(function () {}, {
  get: (target, key) => Object.hasOwn(fixed, key) ? fixed[key] : (target[key] ??= inert()),
  apply: () => inert(), construct: () => inert(), set: () => true,
});
let registered = 0;
const commands = { registerCommand: () => { registered++; return { dispose() {} }; }, executeCommand: async () => {} };
const workspace = new Proxy({}, { get: (_, key) => key === 'getConfiguration' ? () => ({ get: (_, value) => value }) : key === 'workspaceFolders' ? undefined : inert() });
const inner = inert();
const editor = new Proxy({}, { get: (_, key) => key === 'commands' ? commands : key === 'workspace' ? workspace : inner[key] });
const load = Module._load;
const native = [];
Module._load = function (request, ...rest) {
  if (request === 'vscode') return editor;
  if (/^(better-sqlite3|onnxruntime)/.test(request)) native.push(request);
  return load.call(this, request, ...rest);
};
const memory = { get: (_, value) => value, update: async () => {}, keys: () => [] };
const own = { subscriptions: [], workspaceState: memory, globalState: memory };
const context = new Proxy(own, { get: (_, key) => own[key] ?? inner[key] });
const processor = process.cpuUsage();
const started = performance.now();
const extension = require(process.argv[1]);
const loaded = performance.now();
Promise.resolve(extension.activate(context)).then(() => {
  const ended = performance.now();
  const { user, system } = process.cpuUsage(processor);
  process.stdout.write(JSON.stringify({ load: loaded - started, activate: ended - loaded, processor: (user + system) / 1000, registered, native }), () => process.exit(0));
});
`;

interface Turn {
  readonly load: number;
  readonly activate: number;
  /** Processor time of the turn's process on all cores, in milliseconds. */
  readonly processor: number;
}

/**
 * Measures the bundle that was built last.
 * @throws C3Error('input') if there is no bundle; C3Error('engine') if it does not activate;
 * CancelledError
 */
export async function benchActivation(
  { quick, signal, note }: BenchOptions,
  bundle = EXTENSION_BUNDLE,
): Promise<BenchReport> {
  if (!existsSync(bundle)) {
    throw new C3Error('input', `There is no extension at ${bundle}: build it first (npm run build).`);
  }
  const turns: Turn[] = [];
  const folder = createTemporaryFolder('bench-activation');
  try {
    // The first turn fills the cache of the disk and does not count.
    for (let turn = 0; turn <= (quick ? QUICK_TURNS : TURNS); turn++) {
      if (signal.aborted) {
        throw new CancelledError();
      }
      const found = await activateOnce(bundle, folder);
      if (turn > 0) {
        turns.push(found);
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  note(`${turns.length} activations measured`);
  const whole = turns.map(({ load, activate }) => load + activate);
  return {
    suite: 'activation',
    figures: [
      makeFigure('loading and activating, median', takeMedian(whole), 'ms'),
      makeFigure('goal', GOAL, 'ms'),
      makeFigure('loading and activating, 90th percentile', takeQuantile(whole, 0.9), 'ms'),
      makeFigure('processor time of both, median', takeMedian(turns.map(({ processor }) => processor)), 'ms'),
      makeFigure('loading the bundle, median', takeMedian(turns.map(({ load }) => load)), 'ms'),
      makeFigure('activating, median', takeMedian(turns.map(({ activate }) => activate)), 'ms'),
      makeFigure('size of the bundle', statSync(bundle).size / 1024, 'KiB'),
    ],
    hardware: describeHardware(`Node ${process.versions.node}`),
  };
}

async function activateOnce(bundle: string, folder: string): Promise<Turn> {
  let printed: unknown;
  try {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=commonjs', '--eval', ACTIVATION_PROGRAM, bundle, folder],
      { timeout: TURN_TIMEOUT },
    );
    printed = JSON.parse(stdout);
  } catch (error) {
    throw new C3Error('engine', `The extension at ${bundle} did not activate: build it again (npm run build).`, {
      cause: error,
    });
  }
  if (
    !isRecord(printed) ||
    typeof printed['load'] !== 'number' ||
    typeof printed['activate'] !== 'number' ||
    typeof printed['processor'] !== 'number' ||
    !(Number(printed['registered']) > 0)
  ) {
    throw new C3Error(
      'engine',
      `The extension at ${bundle} activated without registering a command: build it again (npm run build).`,
    );
  }
  if (Array.isArray(printed['native']) && printed['native'].length > 0) {
    throw new C3Error(
      'engine',
      `The extension at ${bundle} loads ${printed['native'].join(', ')} when it activates: load it where it is first needed.`,
    );
  }
  return { load: printed['load'], activate: printed['activate'], processor: printed['processor'] };
}

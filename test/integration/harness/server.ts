/**
 * A real VS Code for tests: code-server on a free port with the extension installed. It serves windows on any
 * number of folders; its settings, logs and engines lie in a folder of its own.
 */

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { appendFileSync, rmSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { run } from '../../support/command.ts';
import { killEngines } from '../../support/engines.ts';
import { copyPackaged, packageExtension } from '../../support/package.ts';
import { codeServer } from '../../support/tools.ts';

/** Set by the test run: a folder in which the extension is installed already. */
export const INSTALLED = 'C3_TEST_EXTENSIONS';

const manifest = z.object({ publisher: z.string(), name: z.string(), version: z.string() });

/** User settings that keep the workbench quiet and its pictures still. */
const QUIET_SETTINGS = {
  'workbench.startupEditor': 'none',
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'workbench.reduceMotion': 'on',
  'workbench.enableExperiments': false,
  'workbench.tips.enabled': false,
  'workbench.colorTheme': 'Default Dark Modern',
  'chat.disableAIFeatures': true,
  'telemetry.telemetryLevel': 'off',
  'extensions.autoUpdate': false,
  'extensions.autoCheckUpdates': false,
  'editor.cursorBlinking': 'solid',
  'files.autoSave': 'off',
  'git.enabled': false,
  'remote.autoForwardPorts': false,
};

/**
 * The built-in extensions that the editor starts with: those that the tests need. Loading all hundred of them takes a
 * sixth of the processor time of opening a window.
 */
const BUILT_IN = [
  ...['configuration-editing', 'json', 'json-language-features', 'yaml', 'html', 'log', 'diff', 'search-result'],
  ...['markdown-basics', 'markdown-language-features', 'markdown-math', 'theme-defaults', 'theme-seti'],
];

const SETTINGS = join('data', 'User', 'settings.json');
const START_TIMEOUT = 180_000;
const STOP_TIMEOUT = 5_000;
const KEPT_CHARACTERS = 10_000;

export interface ServerOptions {
  /** User settings on top of the quiet ones. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Leave workspace trust on, so that the trust dialog shows and an untrusted folder is restricted. */
  readonly askForTrust?: boolean;
  /** Folders of extensions of the tests' own, beside those that the editor starts with. */
  readonly beside?: readonly string[];
  /** Environment variables for the server, its extension host and what that starts. */
  readonly env?: Readonly<Record<string, string>>;
}

export class EditorServer {
  /** Address without a trailing slash. */
  readonly url: string;
  /** Where its settings, logs and engines lie. */
  readonly home: string;

  constructor(url: string, home: string) {
    this.url = url;
    this.home = home;
  }

  /** The folder of the server's own log files (extension hosts, windows). */
  get logFolder(): string {
    return join(this.home, 'data', 'logs');
  }

  /** What the server has printed. */
  get outputFile(): string {
    return join(this.home, 'server.log');
  }

  /** Where the engines of this server's windows are found; they outlive windows, and end with the server. */
  get runtime(): string {
    return runtimeOf(this.home);
  }

  /** Sets the user settings to the quiet ones: what a window before changed there is gone. */
  async resetSettings(): Promise<void> {
    const path = join(this.home, SETTINGS);
    await writeFile(`${path}.new`, settingsText({}));
    await rename(`${path}.new`, path);
  }
}

/** A server that this process has started, and ends. */
export class OwnServer extends EditorServer {
  private readonly process: ChildProcess;

  /** The process group of the server and of what it starts. */
  get group(): number {
    return this.process.pid ?? 0;
  }

  private constructor(url: string, home: string, child: ChildProcess) {
    super(url, home);
    this.process = child;
  }

  /** Starts a server and waits until it listens. */
  static async start(options: ServerOptions = {}): Promise<OwnServer> {
    const [script, extensions] = [await codeServer(), await installedExtension()];
    const home = await mkdtemp(join(tmpdir(), 'c3-editor-'));
    await writeFiles(home, { 'config.yaml': '', [SETTINGS]: settingsText(options.settings ?? {}) });
    await mkdir(runtimeOf(home), { mode: 0o700 });
    const args = [
      ...serverArguments(home, extensions),
      ...['--builtin-extensions-dir', await linkBuiltIn(script, join(home, 'built-in'), options.beside ?? [])],
      // Compression saves nothing between processes of one machine.
      ...['--vscode-option', 'disable-websocket-compression'],
      ...['--bind-addr', '127.0.0.1:0', '--auth', 'none', '--reconnection-grace-time', '10'],
      ...(options.askForTrust === true ? [] : ['--disable-workspace-trust']),
    ];
    const child = spawn(process.execPath, [script, ...args], {
      // A process group of its own, so that stopping it takes along the extension hosts and the engines.
      detached: true,
      env: { ...serverEnvironment(home), ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    remember(child, runtimeOf(home));
    try {
      return new OwnServer(await listening(child, join(home, 'server.log')), home, child);
    } catch (error) {
      killGroup(child);
      await rm(home, { recursive: true, force: true });
      throw error;
    }
  }

  /** Whether it still serves. */
  async answers(): Promise<boolean> {
    return fetch(`${this.url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
  }

  /** Ends the server with everything that it started, and removes its folder. */
  async stop(): Promise<void> {
    const child = this.process;
    if (child.exitCode === null && child.signalCode === null) {
      const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
      child.kill('SIGTERM');
      const late = setTimeout(() => killGroup(child), STOP_TIMEOUT);
      await closed;
      clearTimeout(late);
    }
    killGroup(child);
    await rm(this.home, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Links the built-in extensions of BUILT_IN into a new folder. @returns the folder */
async function linkBuiltIn(script: string, folder: string, beside: readonly string[]): Promise<string> {
  const all = join(dirname(script), '..', '..', 'lib', 'vscode', 'extensions');
  await mkdir(folder);
  const linked = [...BUILT_IN.map((name) => join(all, name)), ...beside];
  await Promise.all(linked.map((path) => symlink(path, join(folder, basename(path)))));
  return folder;
}

/** The arguments that every code-server here shares. */
export function serverArguments(home: string, extensions: string): string[] {
  return [
    ...['--config', join(home, 'config.yaml'), '--user-data-dir', join(home, 'data'), '--extensions-dir', extensions],
    ...[
      '--disable-telemetry',
      '--disable-update-check',
      '--disable-getting-started-override',
      '--disable-proxy',
      '--ignore-last-opened',
    ],
  ];
}

/** No gallery, so that nothing is looked up on the network, and a home folder of its own. */
export function serverEnvironment(home: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('npm_') && !name.startsWith('NODE_TEST') && name !== 'NODE_OPTIONS',
  );
  return { ...Object.fromEntries(kept), HOME: home, XDG_RUNTIME_DIR: runtimeOf(home), EXTENSIONS_GALLERY: '{}' };
}

/** Engines live in a folder of the server's own, so that none of the user's is met. */
function runtimeOf(home: string): string {
  return join(home, 'run');
}

let installing: Promise<string> | undefined;

/** The folder in which the extension is installed: the test run's, else one made for this process. */
export function installedExtension(): Promise<string> {
  const given = process.env[INSTALLED];
  if (given !== undefined && given !== '') {
    return Promise.resolve(given);
  }
  installing ??= (async () => {
    const folder = await mkdtemp(join(tmpdir(), 'c3-extensions-'));
    process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
    await installFiles(folder);
    return folder;
  })();
  return installing;
}

/** Puts the files that the package would hold into a folder as code-server installs them, without a package. */
export async function installFiles(folder: string): Promise<void> {
  const { publisher, name, version } = manifest.parse(
    JSON.parse(await readFile(join(import.meta.dirname, '..', '..', '..', 'package.json'), 'utf8')),
  );
  const id = `${publisher}.${name}`;
  const place = `${id}-${version}`;
  await copyPackaged(join(folder, place));
  const location = { $mid: 1, path: join(folder, place), scheme: 'file' };
  await writeFiles(folder, {
    'extensions.json': JSON.stringify([
      { identifier: { id }, version, location, relativeLocation: place, metadata: { pinned: true, source: 'vsix' } },
    ]),
  });
}

/** Packages dist/ as it is and installs the package into a folder, as a user would install it. */
export async function installExtension(folder: string): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), 'c3-install-'));
  try {
    // Not into dist/: a package that someone made there stays as it is.
    const vsix = await packageExtension(undefined, home);
    await writeFiles(home, { 'config.yaml': '' });
    await run(process.execPath, [await codeServer(), ...serverArguments(home, folder), '--install-extension', vsix], {
      env: serverEnvironment(home),
    });
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

function settingsText(settings: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ ...QUIET_SETTINGS, ...settings }, null, 2);
}

/** Writes files below a folder: relative path to content. */
export async function writeFiles(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

/** Waits for the line in which the server names its address; all that it prints goes to a file. */
function listening(child: ChildProcess, outputFile: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = '';
    const fail = (reason: string): void => reject(new Error(`code-server ${reason}.\n${output}`));
    const late = setTimeout(() => fail('did not start in time'), START_TIMEOUT);
    const read = (chunk: Buffer): void => {
      appendFileSync(outputFile, chunk);
      output = (output + chunk.toString('utf8')).slice(-KEPT_CHARACTERS);
      const address = /HTTP server listening on (http:\/\/[\d.]+:\d+)/.exec(output)?.[1];
      if (address !== undefined) {
        clearTimeout(late);
        resolve(address);
      }
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    child.once('error', reject);
    child.once('close', (code) => {
      clearTimeout(late);
      fail(`ended with code ${String(code)}`);
    });
  });
}

/** Servers with the folder in which their engines are. */
const running = new Map<ChildProcess, string>();

/** Remembers a process group, so that none is left behind however this process ends. */
function remember(child: ChildProcess, runtime: string): void {
  if (running.size === 0) {
    process.once('exit', () => {
      for (const one of running.keys()) {
        killGroup(one);
      }
    });
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => process.exit(1));
    }
  }
  running.set(child, runtime);
}

function killGroup(child: ChildProcess): void {
  const runtime = running.get(child);
  running.delete(child);
  // Detached on purpose: they are no part of the server's group.
  if (runtime !== undefined) {
    killEngines(runtime);
  }
  try {
    if (child.pid !== undefined) {
      process.kill(-child.pid, 'SIGKILL');
    }
  } catch {
    // The group has ended.
  }
}

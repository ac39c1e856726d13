/**
 * Runs other programs for the tests: npm, apt, the compiler. Output is shown only if a command
 * fails.
 */

import { spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

export interface CommandOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Keep all output and not only its end. */
  readonly all?: boolean;
  /** Ends the program (SIGTERM) once it is aborted. */
  readonly stop?: AbortSignal;
}

const KEPT_CHARACTERS = 6_000;

/**
 * Runs a program to its end.
 * @returns its output
 * @throws Error with the command line and the end of its output, if it cannot be started or fails
 */
export function run(program: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      env: options.env ?? process.env,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(options.stop === undefined ? {} : { signal: options.stop }),
    });
    let output = '';
    const keep = (chunk: Buffer): void => {
      output = (output + chunk.toString('utf8')).slice(options.all === true ? 0 : -KEPT_CHARACTERS);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code === 0) {
        resolve(output);
      } else {
        reject(
          new Error(
            `"${[program, ...args].join(' ')}" ended with ${signal ?? `code ${String(code)}`}.\n${output}`.trimEnd(),
          ),
        );
      }
    });
  });
}

/** Runs the npm that started this process, or the one on PATH, with the same Node as this process. */
export function npm(args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const script = process.env['npm_execpath'];
  const fromNpm = script?.endsWith('npm-cli.js') === true;
  return fromNpm ? run(process.execPath, [script, ...args], options) : run('npm', args, options);
}

/** Returns the full path of the first of these programs that is on PATH. */
export function onPath(...names: readonly string[]): string | undefined {
  const extensions = process.platform === 'win32' ? ['.exe', '.cmd'] : [''];
  for (const name of names) {
    for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
      for (const extension of extensions) {
        const path = join(folder, name + extension);
        if (folder !== '' && isProgram(path)) {
          return path;
        }
      }
    }
  }
  return undefined;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/**
 * Installs Debian packages if this process is root and has apt-get.
 * @returns false if it cannot install packages
 */
export async function aptInstall(packages: readonly string[]): Promise<boolean> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0 || onPath('apt-get') === undefined) {
    return false;
  }
  console.log(`Installing ${packages.join(', ')} with apt-get (once) ...`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  await run('apt-get', ['update'], { env });
  await run('apt-get', ['install', '-y', '--no-install-recommends', ...packages], { env });
  return true;
}

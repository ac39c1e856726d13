/** Runs an owned program to its end, with limits on time and output. */

import { spawn } from 'node:child_process';
import { onAbort, throwIfAborted } from '../shared/cancellation.ts';
import { CancelledError } from '../shared/errors.ts';
import { endOwned, spawnOwned } from './ownedProcess.ts';

export interface OwnedRun {
  /** The program and its arguments. No shell reads them. */
  readonly command: readonly [string, ...string[]];
  readonly env: Readonly<NodeJS.ProcessEnv>;
  /** The folder in which it is started. Default: this process's own folder. */
  readonly folder?: string;
  /** The text on its standard input. */
  readonly input?: string;
  /** The time limit. */
  readonly milliseconds: number;
  /** The limit of output characters, and the number of error characters that are kept. */
  readonly most: number;
}

/** The way a program ended, or the reason for ending it. */
export type OwnedEnd =
  | { readonly kind: 'exit'; readonly code: number }
  | { readonly kind: 'signal'; readonly signal: NodeJS.Signals }
  | { readonly kind: 'late' | 'flood' }
  | { readonly kind: 'unstarted'; readonly error: NodeJS.ErrnoException };

export interface OwnedOutcome {
  readonly end: OwnedEnd;
  readonly stdout: string;
  /** The end of its error output. */
  readonly stderr: string;
}

/** Milliseconds after a program's end in which output of its child processes is still read. */
const DRAIN = 1000;

/**
 * Runs a program. When this returns, neither it nor any process that it started is left.
 * @throws CancelledError
 */
export async function runOwned(
  { command: [program, ...args], env, folder, input = '', milliseconds, most }: OwnedRun,
  signal: AbortSignal,
): Promise<OwnedOutcome> {
  throwIfAborted(signal);
  const child = spawnOwned(env, (own) =>
    spawn(program, args, { ...own, cwd: folder, shell: false, windowsHide: true, stdio: ['pipe', 'pipe', 'pipe'] }),
  );
  const { promise, resolve, reject } = Promise.withResolvers<OwnedEnd>();
  const ended = (code: number | null, name: NodeJS.Signals | null): OwnedEnd =>
    name === null ? { kind: 'exit', code: code ?? 0 } : { kind: 'signal', signal: name };
  const timers = [setTimeout(resolve, milliseconds, { kind: 'late' })];
  const release = onAbort(signal, () => reject(new CancelledError()));
  child.once('error', (error) => resolve({ kind: 'unstarted', error }));
  child.once('exit', (code, name) => timers.push(setTimeout(resolve, DRAIN, ended(code, name))));
  child.once('close', (code, name) => resolve(ended(code, name)));
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text.slice(0, most - stdout.length);
    if (stdout.length === most) {
      resolve({ kind: 'flood' });
    }
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-most);
  });
  // A program that does not read its input may still end normally.
  child.stdin.on('error', () => undefined).end(input);
  try {
    return { end: await promise, stdout, stderr };
  } finally {
    release();
    timers.forEach(clearTimeout);
    // A process that could not be found may hold the streams open.
    for (const stream of child.stdio) {
      stream?.destroy();
    }
    await endOwned(child, 0);
  }
}

/** An owned program that is run to its end: bounded in time and in output, whatever holds its streams open. */
import { spawn } from 'node:child_process';
import { onAbort, throwIfAborted } from '../shared/cancellation.ts';
import { CancelledError } from '../shared/errors.ts';
import { endOwned, spawnOwned } from './ownedProcess.ts';

export interface OwnedRun {
  /** The program and its arguments; no shell reads them. */
  readonly command: readonly [string, ...string[]];
  readonly env: Readonly<NodeJS.ProcessEnv>;
  /** Where it is started; this process's own folder where it is left out. */
  readonly folder?: string;
  /** What it reads on its standard input. */
  readonly input?: string;
  /** The time that it has. */
  readonly milliseconds: number;
  /** Characters of its output at which it is ended, and of its errors that are kept. */
  readonly most: number;
}

/** How a program ended, or why it was ended. */
export type OwnedEnd =
  | { readonly kind: 'exit'; readonly code: number }
  | { readonly kind: 'signal'; readonly signal: NodeJS.Signals }
  | { readonly kind: 'late' | 'flood' }
  | { readonly kind: 'unstarted'; readonly error: NodeJS.ErrnoException };

export interface OwnedOutcome {
  readonly end: OwnedEnd;
  readonly stdout: string;
  /** What it printed last of its errors. */
  readonly stderr: string;
}

/** Milliseconds after a program's end in which its last output is read, where what it started holds that open. */
const DRAIN = 1000;

/**
 * Runs a program. Neither it nor anything that it started is left by the time this returns.
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
  // One that does not read its input ends all the same.
  child.stdin.on('error', () => undefined).end(input);
  try {
    return { end: await promise, stdout, stderr };
  } finally {
    release();
    timers.forEach(clearTimeout);
    // One that could not be found may hold them open.
    for (const stream of child.stdio) {
      stream?.destroy();
    }
    await endOwned(child, 0);
  }
}

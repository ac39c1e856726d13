/** Runs the peer program with the Python of this machine, where it has what that needs. Nothing is ever installed. */
import { spawn } from 'node:child_process';
import { z } from 'zod';
import { CancelledError, messageOf } from '../../shared/errors.ts';
import type { TransformerConfig } from '../../runtime/transformer.ts';
import { PEER_PROGRAM } from './peerProgram.ts';
import type { BenchOptions } from './report.ts';

/** What the program is asked to measure: every case `rounds` times after a first time that does not count. */
export type PeerTask = { readonly shape: TransformerConfig; readonly threads: number; readonly rounds: number } & (
  | { readonly suite: 'generation'; readonly batches: readonly number[]; readonly prompt: number; readonly new: number }
  | { readonly suite: 'train'; readonly rows: number; readonly length: number }
);

export interface Peer {
  /** The programs with their versions. */
  readonly name: string;
  /** Median seconds by case: `distinct BATCH`, `shared BATCH`; `step`. */
  readonly seconds: Readonly<Record<string, number>>;
}

export interface PeerSettings {
  /** Commands to try, one after the other. */
  readonly pythons?: readonly string[];
  /** Milliseconds after which a peer is given up. */
  readonly limit?: number;
}

const LIMIT = 240_000;
const CANCEL_POLL = 50;
/** Characters of a peer's output that are read. */
const LONGEST_OUTPUT = 100_000;
const LONGEST_REASON = 200;

const answerSchema = z.union([z.object({ missing: z.string() }), z.object({ name: z.string().max(200), seconds: z.record(z.string(), z.number().positive()) })]);

/**
 * Measures the peer.
 * @returns null where it is not installed, fails or takes too long; a note says which
 * @throws CancelledError, when the peer has been ended
 */
export async function measurePeer(task: PeerTask, options: BenchOptions, { pythons = installedPythons(), limit = LIMIT }: PeerSettings = {}): Promise<Peer | null> {
  options.note('measuring the peer');
  let reason = 'no Python on PATH';
  for (const python of pythons) {
    const found = await ask(python, task, options.cancelled, limit);
    if (typeof found !== 'string') {
      options.note(`peer: ${found.name}`);
      return found;
    }
    reason = found;
  }
  options.note(`peer not installed: ${reason}`);
  return null;
}

/** C3_PYTHON names the Python to take; otherwise those that PATH has. */
function installedPythons(): readonly string[] {
  const chosen = process.env['C3_PYTHON'];
  return chosen === undefined || chosen === '' ? ['python3', 'python'] : [chosen];
}

/** The peer's figures, or one sentence why there are none. */
async function ask(python: string, task: PeerTask, cancelled: () => boolean, limit: number): Promise<Peer | string> {
  if (cancelled()) throw new CancelledError();
  const child = spawn(python, ['-c', PEER_PROGRAM, JSON.stringify(task)], { stdio: ['ignore', 'pipe', 'pipe'] });
  let [output, errors] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-LONGEST_OUTPUT)));
  child.stderr.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-LONGEST_OUTPUT)));
  let end: 'cancelled' | 'late' | undefined;
  const stop = (why: 'cancelled' | 'late'): void => {
    end ??= why;
    child.kill('SIGKILL');
    // Nobody waits for what a child of its own may still hold open.
    child.stdout.destroy();
    child.stderr.destroy();
  };
  const poll = setInterval(() => {
    if (cancelled()) stop('cancelled');
  }, CANCEL_POLL);
  const timer = setTimeout(() => {
    stop('late');
  }, limit);
  const failure = await new Promise<string | null>((resolve) => {
    child.once('error', (error) => {
      resolve(messageOf(error));
    });
    child.once('close', (code) => {
      resolve(code === 0 ? null : `${python} failed: ${lastLine(errors).slice(0, LONGEST_REASON)}`);
    });
  });
  clearInterval(poll);
  clearTimeout(timer);
  if (end === 'cancelled') throw new CancelledError();
  if (end === 'late') return `${python} took longer than ${String(limit / 1000)} s`;
  return failure ?? readAnswer(python, lastLine(output));
}

function readAnswer(python: string, line: string): Peer | string {
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    return `${python} printed no figures`;
  }
  const answer = answerSchema.safeParse(json);
  if (!answer.success) return `${python} printed no figures`;
  return 'missing' in answer.data ? `${python} has no module ${answer.data.missing.slice(0, 40)}` : answer.data;
}

const lastLine = (text: string): string => text.trimEnd().split('\n').at(-1) ?? '';

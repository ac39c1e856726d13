/** Runs the peer program with the Python of this machine, where it has what that needs. Nothing is ever installed. */
import { spawn } from 'node:child_process';
import { z } from 'zod';
import { onAbort } from '../../../shared/cancellation.ts';
import { CancelledError, messageOf } from '../../../shared/errors.ts';
import type { TransformerConfig } from '../../../runtime/model/transformer.ts';
import { PEER_PROGRAM } from './peerProgram.ts';
import { peerWords, type BenchOptions, type BenchReport, type PeerStatus } from '../report.ts';

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
/** Characters of a peer's output that are read. */
const LONGEST_OUTPUT = 100_000;
const LONGEST_REASON = 200;

const answerSchema = z.union([
  z.object({ missing: z.string() }),
  z.object({ name: z.string().max(200), seconds: z.record(z.string(), z.number().positive()) }),
]);

/** A peer, or why there is none. */
export type PeerOutcome = { readonly status: 'measured'; readonly peer: Peer } | PeerFailure;

/** Why there is no figure of a peer. */
export interface PeerFailure {
  readonly status: Exclude<PeerStatus, 'measured'>;
  /** One line. */
  readonly reason: string;
  readonly peer: null;
}

export const failure = (status: PeerFailure['status'], reason: string): PeerFailure => ({ status, reason, peer: null });

/** A Python that lacks a module. */
export const missing = (python: string, module: string): PeerFailure =>
  failure('not-installed', `${python} has no module ${module.slice(0, 40)}`);

/** Which of two failures is reported: a Python that has what the peer needs, and fails, says more than another one. */
export const worse = (first: PeerFailure, second: PeerFailure): PeerFailure =>
  first.status === 'not-installed' ? second : first;

/**
 * Measures the peer with the first Python that has it; a note says what came of it.
 * @returns without a figure: failed or too slow where a Python was, else not installed
 * @throws CancelledError, when the peer has been ended
 */
export async function measurePeer(
  task: PeerTask,
  options: BenchOptions,
  { pythons = installedPythons(), limit = LIMIT }: PeerSettings = {},
): Promise<PeerOutcome> {
  options.note('measuring the peer');
  let worst = failure('not-installed', 'no Python on PATH');
  for (const python of pythons) {
    const outcome = await ask(python, task, options.signal, limit);
    if (outcome.status === 'measured') {
      options.note(`peer: ${outcome.peer.name}`);
      return outcome;
    }
    worst = worse(worst, outcome);
  }
  options.note(peerWords(worst));
  return worst;
}

/** What the report of a suite says of its peer. */
export function reportedPeer(outcome: PeerOutcome): Required<Pick<BenchReport, 'peer' | 'peerStatus' | 'peerReason'>> {
  const { peer, status } = outcome;
  return { peer: peer?.name ?? null, peerStatus: status, peerReason: status === 'measured' ? null : outcome.reason };
}

/** C3_PYTHON names the Python to take; otherwise those that PATH has. */
export function installedPythons(): readonly string[] {
  const chosen = process.env['C3_PYTHON'];
  return chosen === undefined || chosen === '' ? ['python3', 'python'] : [chosen];
}

async function ask(python: string, task: PeerTask, signal: AbortSignal, limit: number): Promise<PeerOutcome> {
  if (signal.aborted) {
    throw new CancelledError();
  }
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
  const release = onAbort(signal, () => {
    stop('cancelled');
  });
  const timer = setTimeout(() => {
    stop('late');
  }, limit);
  const failed = await new Promise<PeerFailure | null>((resolve) => {
    child.once('error', (error) => {
      resolve(failure('code' in error && error.code === 'ENOENT' ? 'not-installed' : 'failed', messageOf(error)));
    });
    child.once('close', (code, killedBy) => {
      const last = lastLine(errors).slice(0, LONGEST_REASON);
      const how = killedBy === null ? `exit code ${String(code)}` : `signal ${killedBy}`;
      resolve(code === 0 ? null : failure('failed', `${python} failed with ${how}${last === '' ? '' : `: ${last}`}`));
    });
  });
  release();
  clearTimeout(timer);
  if (end === 'cancelled') {
    throw new CancelledError();
  }
  if (end === 'late') {
    return failure('too-slow', `${python} took longer than ${String(limit / 1000)} s`);
  }
  return failed ?? readAnswer(python, lastLine(output));
}

function readAnswer(python: string, line: string): PeerOutcome {
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    return failure('failed', `${python} printed no figures`);
  }
  const answer = answerSchema.safeParse(json);
  if (!answer.success) {
    return failure('failed', `${python} printed no figures`);
  }
  if ('missing' in answer.data) {
    return missing(python, answer.data.missing);
  }
  return { status: 'measured', peer: answer.data };
}

const lastLine = (text: string): string => text.trimEnd().split('\n').at(-1) ?? '';

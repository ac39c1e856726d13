/** Runs the peer program with the Python of this machine, where it has what that needs. Nothing is ever installed. */
import { z } from 'zod';
import { runOwned } from '../../../files/runOwned.ts';
import type { TransformerConfig } from '../../../runtime/model/transformer.ts';
import { messageOf } from '../../../shared/errors.ts';
import { peerWords, type BenchOptions, type BenchReport, type PeerStatus } from '../report.ts';
import { PEER_PROGRAM } from './peerProgram.ts';

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
  const { end, stdout, stderr } = await runOwned(
    {
      command: [python, '-c', PEER_PROGRAM, JSON.stringify(task)],
      env: process.env,
      milliseconds: limit,
      most: LONGEST_OUTPUT,
    },
    signal,
  );
  switch (end.kind) {
    case 'unstarted':
      return failure(end.error.code === 'ENOENT' ? 'not-installed' : 'failed', messageOf(end.error));
    case 'late':
      return failure('too-slow', `${python} took longer than ${limit / 1000} s`);
    case 'flood':
      return failure('failed', `${python} printed ${LONGEST_OUTPUT} characters and more`);
    case 'exit':
    case 'signal': {
      if (end.kind === 'exit' && end.code === 0) {
        return readAnswer(python, lastLine(stdout));
      }
      const last = lastLine(stderr).slice(0, LONGEST_REASON);
      const how = end.kind === 'signal' ? `signal ${end.signal}` : `exit code ${end.code}`;
      return failure('failed', `${python} failed with ${how}${last === '' ? '' : `: ${last}`}`);
    }
  }
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

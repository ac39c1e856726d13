/** What the commands share: options, output, the engine that they work with. */
import { resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import type { RunProgress } from '../../shared/protocols/jobs.ts';
import { CancelledError } from '../../shared/errors.ts';
import { text, type ParsedArguments } from './arguments.ts';
import type { LoadControl } from '../models/models.ts';
import { DEFAULT_STORE } from '../places.ts';
import { EngineService } from '../service.ts';
import { remainingWords } from '../../shared/text/times.ts';
import { loadingWords } from '../models/loadingWords.ts';

/** Where a command writes. */
export type Output = Writable & { readonly isTTY?: boolean };

/** What a command has of the process that it works in. */
export interface Streams {
  readonly stdin: Readable;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Whether the streams are those of the process, so that a program that a command starts has them as they are. */
  readonly areInherited: boolean;
  /** The current folder. */
  readonly folder: string;
  readonly env: Readonly<NodeJS.ProcessEnv>;
  /** Aborts where the command is to stop: its reader has left, or Ctrl+C was typed. */
  readonly signal: AbortSignal;
}

export interface CommandContext {
  /** The command's name, as it was typed. */
  readonly name: string;
  readonly streams: Streams;
  /** The folder that paths are relative to. */
  readonly folder: string;
  readonly signal: AbortSignal;
  /** Writes a line of the result. @throws CancelledError where its reader has left */
  readonly print: (line: string) => void;
  /** Writes a line of progress or a remark to standard error. */
  readonly note: (line: string) => void;
  /** Says that the work was done and has shown that something is wrong: the exit code is 1. */
  readonly fails: () => void;
}

export interface Command {
  readonly usage: string;
  readonly summary: string;
  /**
   * Whether nothing is left half done: Ctrl+C then ends it at once, even if a damaged store keeps it reading without
   * end.
   */
  readonly onlyReads?: (args: readonly string[]) => boolean;
  readonly run: (args: readonly string[], context: CommandContext) => Promise<void>;
}

export const STORE = { store: { type: 'string' } } as const;
export const JSON_FLAG = { json: { type: 'boolean' } } as const;

/** What a command works with. @param fails hears that its exit code is 1 */
export function contextOf(name: string, streams: Streams, fails: () => void): CommandContext {
  const { stdout, stderr, folder, signal } = streams;
  return {
    name,
    streams,
    folder,
    signal,
    print: (line) => {
      // The reader has closed the output: further work would be lost.
      if (stdout.errored !== null) {
        throw new CancelledError();
      }
      stdout.write(`${line}\n`);
    },
    note: (line) => {
      stderr.write(`${line}\n`);
    },
    fails,
  };
}

/** The database that --store names, or the usual one. */
export const storePath = (parsed: ParsedArguments, { folder }: CommandContext): string =>
  resolve(folder, text(parsed, 'store') ?? DEFAULT_STORE);

/** Opens a service of the store that --store names for one piece of work and closes it whatever happens. */
export async function withService<Result>(
  parsed: ParsedArguments,
  context: CommandContext,
  work: (service: EngineService) => Promise<Result>,
): Promise<Result> {
  const { name, note } = context;
  // Says for whom a command waits, and how to leave.
  const onWaiting = (words: string | null): void => {
    if (words !== null) {
      note(`${words}; Ctrl+C stops waiting.`);
    }
  };
  const service = new EngineService(storePath(parsed, context), { command: `c3 ${name}`, onWaiting });
  try {
    return await work(service);
  } finally {
    await service.close();
  }
}

/** Bytes of a model's files from which on loading takes long enough to be followed. */
export const LARGE_MODEL = 100e6;

/** Shows how far a large model is loaded. */
export function loadingPrinter(context: CommandContext): LoadControl {
  const show = progressPrinter(context);
  const onProgress = (done: number, total: number): void => {
    if (total >= LARGE_MODEL) {
      show({ stage: 'load', done, total, message: loadingWords(done, total) });
    }
  };
  return { onProgress, signal: context.signal };
}

/** Progress on standard error: one line that is rewritten on a terminal, a line per tenth elsewhere. */
export function progressPrinter({
  streams: { stderr },
  note,
}: CommandContext): (
  progress: Pick<RunProgress, 'stage' | 'done' | 'total' | 'message'> & { readonly remainingSeconds?: number | null },
) => void {
  let lastTenth = '';
  return ({ stage, done, total, message, remainingSeconds = null }) => {
    const remaining = remainingWords(remainingSeconds);
    // A remark is a sentence, and what remains of the run follows it.
    const line = remaining === '' ? message : `${message.replace(/\.$/u, '')}, ${remaining}`;
    if (stderr.isTTY === true) {
      stderr.write(`\r\u001b[2K${line}${stage !== 'train' && done === total ? '\n' : ''}`);
      return;
    }
    const tenth = `${message.split(':')[0] ?? ''}:${String(Math.floor((10 * done) / Math.max(1, total)))}`;
    if (stage === 'train' ? done % Math.max(1, Math.round(total / 20)) === 0 : tenth !== lastTenth) {
      note(line);
    }
    lastTenth = tenth;
  };
}

/** What the commands share: options, output, the engine that they work with. */
import { resolve } from 'node:path';
import type { RunProgress } from '../../shared/protocols/jobs.ts';
import { CancelledError } from '../../shared/errors.ts';
import { text, type ParsedArguments } from './arguments.ts';
import type { LoadControl } from '../models/models.ts';
import { DEFAULT_STORE } from '../places.ts';
import { EngineService } from '../service.ts';
import { remainingWords } from '../../shared/text/times.ts';
import { loadingWords } from '../models/loadingWords.ts';

export interface CommandContext {
  /** The current folder. */
  readonly folder: string;
  readonly signal: AbortSignal;
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

/** The database that --store names, or the usual one. */
export const storePath = (parsed: ParsedArguments, { folder }: CommandContext): string =>
  resolve(folder, text(parsed, 'store') ?? DEFAULT_STORE);
/** A line of the result. @throws CancelledError where its reader has left */
export const print = (line: string): void => {
  // Nobody reads any more, so what comes after this line needs no work.
  if (process.stdout.errored !== null) {
    throw new CancelledError();
  }
  process.stdout.write(`${line}\n`);
};
/** A line for whoever watches. */
export const note = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

/** Says for whom a command waits, and how to leave. */
function noteWaiting(words: string | null): void {
  if (words !== null) {
    note(`${words}; Ctrl+C stops waiting.`);
  }
}

/** Opens a service for one piece of work and closes it whatever happens. */
export async function withService<Result>(
  path: string,
  work: (service: EngineService) => Promise<Result>,
): Promise<Result> {
  const service = new EngineService(path, { command: `c3 ${process.argv[2] ?? ''}`.trim(), onWaiting: noteWaiting });
  try {
    return await work(service);
  } finally {
    await service.close();
  }
}

/** Bytes of a model's files from which on loading takes long enough to be followed. */
export const LARGE_MODEL = 100e6;

/** Shows how far a large model is loaded. */
export function loadingPrinter({ signal }: CommandContext): LoadControl {
  const show = progressPrinter();
  const onProgress = (done: number, total: number): void => {
    if (total >= LARGE_MODEL) {
      show({ stage: 'load', done, total, message: loadingWords(done, total) });
    }
  };
  return { onProgress, signal };
}

/** Progress on standard error: one line that is rewritten on a terminal, a line per tenth elsewhere. */
export function progressPrinter(): (
  progress: Pick<RunProgress, 'stage' | 'done' | 'total' | 'message'> & { readonly remainingSeconds?: number | null },
) => void {
  const terminal = process.stderr.isTTY;
  let lastTenth = '';
  return ({ stage, done, total, message, remainingSeconds = null }) => {
    const remaining = remainingWords(remainingSeconds);
    // A remark is a sentence, and what remains of the run follows it.
    const line = remaining === '' ? message : `${message.replace(/\.$/u, '')}, ${remaining}`;
    if (terminal) {
      process.stderr.write(`\r\u001b[2K${line}${stage !== 'train' && done === total ? '\n' : ''}`);
      return;
    }
    const tenth = `${message.split(':')[0] ?? ''}:${String(Math.floor((10 * done) / Math.max(1, total)))}`;
    if (stage === 'train' ? done % Math.max(1, Math.round(total / 20)) === 0 : tenth !== lastTenth) {
      note(line);
    }
    lastTenth = tenth;
  };
}

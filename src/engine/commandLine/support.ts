/** What the commands share: options, output, the engine that they work with. */
import { resolve } from 'node:path';
import type { SpendingChoice } from '../../shared/endpointCost.ts';
import { C3Error } from '../../shared/errors.ts';
import type { RunProgress } from '../../shared/protocols/jobs.ts';
import { text, whole, type ParsedArguments } from './arguments.ts';
import { askAtTerminal } from './askAtTerminal.ts';
import type { CommandContext } from './command.ts';
import type { LoadControl } from '../models/models.ts';
import { DEFAULT_STORE } from '../places.ts';
import { EngineService } from '../service.ts';
import { remainingWords } from '../../shared/text/times.ts';
import { loadingWords } from '../models/loadingWords.ts';

export const STORE = { store: { type: 'string' } } as const;
export const JSON_FLAG = { json: { type: 'boolean' } } as const;
export const SPENDING = { 'spend-tokens': { type: 'string' }, 'spend-money': { type: 'string' } } as const;

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
  service.endpoints.askWait = (wait, signal) => askAtTerminal(context, wait, signal);
  try {
    return await work(service);
  } finally {
    await service.close();
  }
}

/**
 * The most that the run and its replays may spend at a server, in the place of what the configuration says.
 * @throws C3Error('input') for what is no amount
 */
export function spendingOf(parsed: ParsedArguments): SpendingChoice {
  const [tokens, money] = [text(parsed, 'spend-tokens'), text(parsed, 'spend-money')];
  if (money !== null && !/^\d+(?:\.\d+)?$/u.test(money)) {
    throw new C3Error(
      'input',
      `--spend-money needs an amount such as 0.25, not ${JSON.stringify(money.slice(0, 40))}.`,
    );
  }
  return {
    ...(tokens !== null && { tokens: whole(parsed, 'spend-tokens', 0, 0) }),
    ...(money !== null && { money: Number(money) }),
  };
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

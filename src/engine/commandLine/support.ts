/** What the commands share: output, the engine that they work with. */
import { resolve } from 'node:path';
import type { SpendingChoice } from '../../shared/endpointCost.ts';
import type { RunProgress } from '../../shared/protocols/jobs.ts';
import { remainingWords } from '../../shared/text/times.ts';
import { loadingWords } from '../models/loadingWords.ts';
import type { LoadControl } from '../models/models.ts';
import { EngineService } from '../service.ts';
import { askAtTerminal } from './askAtTerminal.ts';
import type { CommandContext } from './command.ts';
import type { OptionsGiven } from './declared/declaration.ts';
import type { SPENDING, STORE } from './declared/options.ts';

/** What a command is given that works with a store. */
export type StoreGiven = OptionsGiven<typeof STORE>;

/** The database that --store names, or the usual one. */
export const storePath = (given: StoreGiven, { folder }: CommandContext): string => resolve(folder, given.store);

/** Opens a service of the store that --store names for one piece of work and closes it whatever happens. */
export async function withService<Result>(
  given: StoreGiven,
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
  const service = new EngineService(storePath(given, context), { command: `c3 ${name}`, onWaiting });
  service.endpoints.askWait = (wait, signal) => askAtTerminal(context, wait, signal);
  try {
    return await work(service);
  } finally {
    await service.close();
  }
}

/** The most that the run and its replays may spend at a server, in the place of what the configuration says. */
export const spendingOf = (given: OptionsGiven<typeof SPENDING>): SpendingChoice => ({
  ...(given.spendTokens !== null && { tokens: given.spendTokens }),
  ...(given.spendMoney !== null && { money: given.spendMoney }),
});

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

/** How far work is. */
export interface Progress {
  readonly done: number;
  readonly total: number;
  readonly message: string;
  /** That of a run, whose steps are shown one in twenty where no terminal is. */
  readonly stage?: RunProgress['stage'];
  readonly remainingSeconds?: number | null;
}

/** Progress on standard error: one line that is rewritten on a terminal, a line per tenth elsewhere. */
export function progressPrinter({
  streams: { stderr },
  note,
  showProgress,
  endProgress,
}: CommandContext): (progress: Progress) => void {
  let lastTenth = '';
  return ({ stage, done, total, message, remainingSeconds = null }) => {
    const remaining = remainingWords(remainingSeconds);
    // A remark is a sentence, and what remains of the run follows it.
    const line = remaining === '' ? message : `${message.replace(/\.$/u, '')}, ${remaining}`;
    if (stderr.isTTY === true) {
      showProgress(line);
      if (stage !== 'train' && done === total) {
        endProgress();
      }
      return;
    }
    const tenth = `${message.split(':')[0] ?? ''}:${Math.floor((10 * done) / Math.max(1, total))}`;
    if (stage === 'train' ? done % Math.max(1, Math.round(total / 20)) === 0 : tenth !== lastTenth) {
      note(line);
    }
    lastTenth = tenth;
  };
}

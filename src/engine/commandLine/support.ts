/** Shared parts of the commands: the engine service, spending options and progress. */

import { resolve } from 'node:path';
import type { SpendingChoice } from '../../shared/endpointCost.ts';
import type { RunProgress } from '../../shared/protocols/jobs.ts';
import { formatRemaining } from '../../shared/text/times.ts';
import { formatLoading } from '../models/loadingWords.ts';
import type { LoadControl } from '../models/models.ts';
import { EngineService } from '../service.ts';
import { askAtTerminal } from './askAtTerminal.ts';
import type { CommandContext } from './command.ts';
import type { OptionsGiven } from './declared/declaration.ts';
import type { SPENDING, STORE } from './declared/options.ts';

/** The arguments of a command that works with a store. */
export type StoreGiven = OptionsGiven<typeof STORE>;

/** Returns the path of the database that --store names, or the default one. */
export const resolveStorePath = (given: StoreGiven, { folder }: CommandContext): string => resolve(folder, given.store);

/** Opens a service of the store that --store names for one piece of work, and always closes it. */
export async function withService<Result>(
  given: StoreGiven,
  context: CommandContext,
  work: (service: EngineService) => Promise<Result>,
): Promise<Result> {
  const { name, note } = context;
  // Tells which process the command waits for, and how to stop waiting.
  const onWaiting = (words: string | null): void => {
    if (words !== null) {
      note(`${words}; Ctrl+C stops waiting.`);
    }
  };
  const service = new EngineService(resolveStorePath(given, context), { command: `c3 ${name}`, onWaiting });
  service.endpoints.askWait = (wait, signal) => askAtTerminal(context, wait, signal);
  try {
    return await work(service);
  } finally {
    await service.close();
  }
}

/** Returns the spending limit at a server, which overrides that of the configuration. */
export const readSpendingOptions = (given: OptionsGiven<typeof SPENDING>): SpendingChoice => ({
  ...(given.spendTokens !== null && { tokens: given.spendTokens }),
  ...(given.spendMoney !== null && { money: given.spendMoney }),
});

/** Bytes of a model's files above which loading takes long enough to show progress. */
export const LARGE_MODEL = 100e6;

/** Shows the loading progress of a large model. */
export function createLoadingPrinter(context: CommandContext): LoadControl {
  const show = createProgressPrinter(context);
  const onProgress = (done: number, total: number): void => {
    if (total >= LARGE_MODEL) {
      show({ stage: 'load', done, total, message: formatLoading(done, total) });
    }
  };
  return { onProgress, signal: context.signal };
}

export interface Progress {
  readonly done: number;
  readonly total: number;
  readonly message: string;
  /** Stage of a run; without a terminal, every twentieth of the training steps is shown. */
  readonly stage?: RunProgress['stage'];
  readonly remainingSeconds?: number | null;
}

/** Shows progress on standard error: one line on a terminal, or else a line for each tenth. */
export function createProgressPrinter({
  streams: { stderr },
  note,
  showProgress,
  endProgress,
}: CommandContext): (progress: Progress) => void {
  let lastTenth = '';
  return ({ stage, done, total, message, remainingSeconds = null }) => {
    const remaining = formatRemaining(remainingSeconds);
    // A remark ends with a full stop, and the remaining time follows it.
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

/** What loses the episodes of runs: asked of the engine, and remembered by the workspace. */
import { ProgressLocation, window } from 'vscode';
import { isRunBlame, RUN_BLAME_BUDGET, type RunBlame } from '../../domain/answer.ts';
import { asksServers } from '../../domain/run.ts';
import { CancelledError } from '../../shared/errors.ts';
import type { ShownLosses } from '../../shared/protocols/dashboardProtocol.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import type { ListKeeper } from '../common/listKeeper.ts';
import type { Services } from '../services.ts';

const KEY = 'c3.losses';
/** Runs whose answers are kept; the oldest answer is forgotten first. */
const MOST = 20;

export class RunLosses {
  private readonly keeper: ListKeeper;
  private readonly engine: Services['engine'];
  private readonly asked = new Set<string>();

  constructor(keeper: ListKeeper, engine: Services['engine']) {
    this.keeper = keeper;
    this.engine = engine;
  }

  /**
   * What is known about a run; null where nothing was evaluated, or servers answer: they are asked on the command line,
   * where the user says so.
   */
  shown(reader: StoreReader, run: string): ShownLosses | null {
    return reader.evaluations(run).length === 0 || asksServers(reader.runConfig(run))
      ? null
      : { found: this.answers().find((one) => one.run === run) ?? null, isAsked: this.asked.has(run) };
  }

  /**
   * Looks for what loses the episodes of a run, which the user may cancel.
   * @param onChange hears when it begins and ends
   */
  async find(reader: StoreReader | null, run: string, onChange: () => void): Promise<void> {
    if (reader === null || this.shown(reader, run) === null) {
      void window.showInformationMessage(
        'What loses the episodes of this run cannot be looked for here: it has no evaluation, or servers answer for its roles. On the command line, c3 blame --run asks servers, too.',
      );
      return;
    }
    if (this.asked.has(run)) {
      return;
    }
    this.asked.add(run);
    onChange();
    try {
      const found = await window.withProgress(
        { location: ProgressLocation.Notification, title: 'Finding what loses episodes', cancellable: true },
        async (progress, token) => {
          const listener = this.engine.onBlameProgress(({ words }) => progress.report({ message: words }));
          try {
            return await this.engine.client().blameRun({ run, budget: RUN_BLAME_BUDGET.window }, token);
          } finally {
            listener.dispose();
          }
        },
      );
      await this.keeper.update(KEY, [found, ...this.answers().filter((one) => one.run !== run)].slice(0, MOST));
    } catch (error) {
      if (!(error instanceof CancelledError)) {
        throw error;
      }
    } finally {
      this.asked.delete(run);
      onChange();
    }
  }

  private answers(): RunBlame[] {
    const kept = this.keeper.get(KEY);
    return Array.isArray(kept) ? kept.filter((one) => isRunBlame(one)) : [];
  }
}

/** The run dashboard: one panel that shows a chosen run and other runs for comparison. */

import { window, type WebviewPanel, env, ProgressLocation } from 'vscode';
import { isRunBlame, RUN_BLAME_BUDGET, type RunBlame } from '../../domain/answer.ts';
import type { Phase } from '../../domain/episode.ts';
import { asksServers } from '../../domain/run.ts';
import { CancelledError } from '../../shared/errors.ts';
import {
  COMPARED_MOST,
  DASHBOARD_PANEL,
  isDashboardState,
  filterSameTask,
  type DashboardFromHost,
  type ShownLosses,
} from '../../shared/protocols/dashboardProtocol.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import type { ListKeeper } from '../common/listKeeper.ts';
import { runCommand } from '../common/runCommand.ts';
import { isBeingWritten } from '../engine/storeOwner.ts';
import type { Services } from '../services.ts';
import { askForConfirmation } from '../webview/confirm.ts';
import { SinglePanel } from '../webview/panels.ts';
import { DashboardSession, type DashboardOpening } from './dashboardSession.ts';
import { readRunTask } from './runTask.ts';

export interface DashboardParts {
  readonly keeper: ListKeeper;
  readonly showRound: (run: string, phase: Phase, iteration: number) => Promise<void>;
  readonly openMessage: (message: number) => void;
}

export class Dashboard {
  private readonly services: Services;
  private readonly losses: RunLosses;
  private readonly panel: SinglePanel<typeof DASHBOARD_PANEL, DashboardFromHost, DashboardOpening, DashboardSession>;

  constructor(services: Services, { keeper, showRound, openMessage }: DashboardParts) {
    this.services = services;
    const { store, runs, engine } = services;
    this.losses = new RunLosses(keeper, engine);
    this.panel = new SinglePanel(
      DASHBOARD_PANEL,
      services,
      (opening, page) =>
        new DashboardSession(opening, page, {
          reader: () => store.reader(),
          current: () => runs.current,
          isBeingWritten,
          lossesOf: (reader, run) => this.losses.shown(reader, run),
          findLosses: (run) => this.findLosses(run),
          tryChange: (run, role) => runCommand('tryChange', { run, role }),
          showRound,
          openMessage,
          copy: confirmAndCopy,
          confirmed: askForConfirmation,
          command: runCommand,
        }),
    );
  }

  /** The run that is shown if the panel is the active editor, or null. */
  get runInFront(): string | null {
    return this.panel.isInFront ? (this.panel.session?.shownRun ?? null) : null;
  }

  /** Shows a run, or the newest run if null, in the window's only dashboard. */
  open(run: string | null, compared: readonly string[] | null = null): void {
    this.panel.open({ run, compared });
  }

  /** Shows the first run and compares the others with it. Leaves out runs of other tasks and says so. */
  openCompared([first, ...others]: readonly string[]): void {
    const run = first ?? null;
    const reader = this.services.store.reader();
    const same =
      run === null || reader === null ? [] : filterSameTask(others, run, (id) => readRunTask(reader.runConfig(id)));
    const left = others.length - same.length;
    this.open(run, same.slice(0, COMPARED_MOST));
    if (left > 0) {
      void window.showInformationMessage(
        `${left === 1 ? 'One of the selected runs solves another task and is' : `${left} of the selected runs solve other tasks and are`} not compared.`,
      );
    }
  }

  /** Removes a deleted run from the dashboard. */
  forget(run: string): void {
    this.panel.session?.forget(run);
  }

  /** Finds the causes of lost episodes of a run, and shows them in the dashboard. */
  findLosses(run: string): Promise<void> {
    return this.losses.find(this.services.store.reader(), run, () => this.panel.session?.publish());
  }

  /** Restores the panel after a reload. */
  restore(tab: WebviewPanel, state: unknown): void {
    const kept = isDashboardState(state) ? state : null;
    this.panel.restore(tab, (wanted) => ({
      run: wanted === null ? (kept?.run ?? null) : wanted.run,
      // If no runs were given, those that the panel compared before.
      compared: wanted?.compared ?? kept?.compared ?? [],
    }));
  }
}

// Copying tables of the page to the clipboard

/** Maximum number of lines and characters of a table in the confirmation. */
const [LINES_SHOWN, TEXT_SHOWN] = [12, 600];

/**
 * Copies a table of the page to the clipboard after the user has confirmed its beginning. Text that is
 * pasted into a terminal, for example, may run there.
 */
async function confirmAndCopy(text: string): Promise<void> {
  const beginning = text.split(/\r?\n/u, LINES_SHOWN).join('\n').slice(0, TEXT_SHOWN);
  const detail = beginning.length < text.trimEnd().length ? `${beginning}\n…` : beginning;
  if (await askForConfirmation(`Copy ${text.length} characters to the clipboard?`, 'Copy', detail)) {
    await env.clipboard.writeText(text);
  }
}

// Causes of lost episodes: computed by the engine and kept in the workspace state

const KEY = 'c3.losses';
/** Maximum number of runs whose answers are kept. The oldest answer is dropped first. */
const MOST = 20;

class RunLosses {
  private readonly keeper: ListKeeper;
  private readonly engine: Services['engine'];
  private readonly asked = new Set<string>();

  constructor(keeper: ListKeeper, engine: Services['engine']) {
    this.keeper = keeper;
    this.engine = engine;
  }

  /**
   * Returns the known causes for a run. Returns null if the run has no evaluation, or if servers answer
   * for its roles. Only the command line asks servers, at the user's request.
   */
  shown(reader: StoreReader, run: string): ShownLosses | null {
    return reader.evaluations(run).length === 0 || asksServers(reader.runConfig(run))
      ? null
      : { found: this.answers().find((one) => one.run === run) ?? null, isAsked: this.asked.has(run) };
  }

  /**
   * Finds the causes of lost episodes of a run. The user can cancel the search.
   * @param onChange called when the search begins and when it ends
   */
  async find(reader: StoreReader | null, run: string, onChange: () => void): Promise<void> {
    if (reader === null || this.shown(reader, run) === null) {
      void window.showInformationMessage(
        'The causes of lost episodes cannot be found here: this run has no evaluation, or servers answer for its ' +
          'roles. On the command line, c3 blame --run asks servers too, and with --team a recorded program.',
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

/** The run dashboard: one panel, which shows the run chosen in it and others laid over it. */
import { window, type WebviewPanel } from 'vscode';
import type { Phase } from '../../domain/episode.ts';
import {
  COMPARED_MOST,
  DASHBOARD_PANEL,
  isDashboardState,
  ofSameTask,
  type DashboardFromHost,
} from '../../shared/protocols/dashboardProtocol.ts';
import type { ListKeeper } from '../common/listKeeper.ts';
import { runCommand } from '../common/runCommand.ts';
import { isBeingWritten } from '../engine/storeOwner.ts';
import type { Services } from '../services.ts';
import { confirmed } from '../webview/confirm.ts';
import { SinglePanel } from '../webview/panels.ts';
import { copyConfirmed } from './copyConfirmed.ts';
import { DashboardSession, type DashboardOpening } from './dashboardSession.ts';
import { RunLosses } from './runLosses.ts';
import { taskOf } from './runTask.ts';

export interface DashboardParts {
  readonly keeper: ListKeeper;
  /** Shows a round of a run in the side bar. */
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
          copy: copyConfirmed,
          confirmed,
          command: runCommand,
        }),
    );
  }

  /** Shows the run, or the newest when none is named, in the one dashboard that a window has. */
  open(run: string | null, compared: readonly string[] | null = null): void {
    this.panel.open({ run, compared });
  }

  /**
   * Shows runs over each other, the first of them as the one that is looked at. Those of other tasks are left out, and
   * that is said.
   */
  openCompared([first, ...others]: readonly string[]): void {
    const run = first ?? null;
    const reader = this.services.store.reader();
    const same = run === null || reader === null ? [] : ofSameTask(others, run, (id) => taskOf(reader.runConfig(id)));
    const left = others.length - same.length;
    this.open(run, same.slice(0, COMPARED_MOST));
    if (left > 0) {
      void window.showInformationMessage(
        `${left === 1 ? 'One of the selected runs solves another task and is' : `${left} of the selected runs solve other tasks and are`} not compared.`,
      );
    }
  }

  /** A run was deleted. */
  forget(run: string): void {
    this.panel.session?.forget(run);
  }

  /** Looks for what loses the episodes of a run, and shows it in the dashboard. */
  findLosses(run: string): Promise<void> {
    return this.losses.find(this.services.store.reader(), run, () => this.panel.session?.publish());
  }

  /** Brings the panel back after a reload. */
  restore(tab: WebviewPanel, state: unknown): void {
    const kept = isDashboardState(state) ? state : null;
    this.panel.restore(tab, (wanted) => ({
      run: wanted === null ? (kept?.run ?? null) : wanted.run,
      // Without runs that were asked for, those that it compared before.
      compared: wanted?.compared ?? kept?.compared ?? [],
    }));
  }
}

/** The run dashboard: one panel, which shows the run chosen in it and others laid over it. */
import { commands, ViewColumn, window, type Tab, type WebviewPanel } from 'vscode';
import {
  COMPARED_MOST,
  isDashboardState,
  DASHBOARD_PANEL,
  ofSameTask,
  type DashboardFromHost,
  type DashboardSnapshot,
  type DashboardToHost,
  type RunTask,
} from '../../shared/protocols/dashboardProtocol.ts';
import { evaluationsOf } from '../../domain/evaluation.ts';
import { messageOf } from '../../shared/errors.ts';
import { judgeWordsIn, shownStatus, type RunRecord } from '../../domain/run.ts';
import { oneLine } from '../../shared/text/oneLine.ts';
import type { Phase } from '../../domain/episode.ts';
import { roleModels, regionFacts, type RemovalOutcomes } from '../../domain/stepRows.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import { confirmed } from '../webview/confirm.ts';
import { Disposables } from '../common/disposables.ts';
import { copyConfirmed } from './copyConfirmed.ts';
import { bringBack, tabsOfPanel } from '../webview/keptTabs.ts';
import { report } from '../common/report.ts';
import { RunLosses, type LossesKeeper } from './runLosses.ts';
import { RunOutcomes } from './runOutcomes.ts';
import { RunRemovals } from './runRemovals.ts';
import { taskOf } from './runTask.ts';
import type { Services } from '../services.ts';
import { StepHistories } from './stepHistories.ts';
import { isBeingWritten } from '../engine/storeOwner.ts';
import { Throttle } from '../common/throttle.ts';
import { createPanel, WebviewDoor } from '../webview/webviewDoor.ts';

/** The panel is updated at most this often. */
const TELL_MILLISECONDS = 500;
/** Runs in the choosers and in the Pareto chart, newest first. */
const RUNS_SHOWN = 200;
/** The store is read for so long before the editor has its turn. */
const SLICE_MILLISECONDS = 20;

/** Shows a round of a run in the side bar. */
export type ShowRound = (run: string, phase: Phase, iteration: number) => Promise<void>;

export interface DashboardParts {
  readonly keeper: LossesKeeper;
  readonly showRound: ShowRound;
  readonly openMessage: (message: number) => void;
}

/** The run that is looked at, null for the newest, and those over it. */
interface Shown {
  readonly run: string | null;
  readonly compared: readonly string[];
}

export class Dashboard {
  private readonly services: Services;
  private readonly showRound: ShowRound;
  private readonly openMessage: (message: number) => void;
  private readonly losses: RunLosses;
  private readonly histories = new StepHistories();
  private readonly outcomes = new RunOutcomes();
  private readonly removals = new RunRemovals();
  private readonly tasks = new Map<string, RunTask>();
  private panel: WebviewPanel | null = null;
  private door: WebviewDoor<DashboardToHost, DashboardFromHost> | null = null;
  /** Null: the newest run. */
  private run: string | null = null;
  private compared: readonly string[] = [];
  /** Runs that were sent to the page: it may ask about no others. */
  private offered: ReadonlySet<string> = new Set();
  private shown: RunRecord | null = null;
  /** How many steps of each run the page has. */
  private readonly sent = new Map<string, number>();
  private outcomesTold = 0;
  private removalTold: RemovalOutcomes | null = null;
  private reading: NodeJS.Immediate | null = null;
  /** What a tab that is being brought back shall show; null for what it showed. */
  private wanted: Shown | null = null;

  constructor(services: Services, { keeper, showRound, openMessage }: DashboardParts) {
    this.services = services;
    this.showRound = showRound;
    this.openMessage = openMessage;
    this.losses = new RunLosses(keeper, services.engine);
  }

  /** Shows the run, or the newest when none is named, in the one dashboard that a window has. */
  open(run: string | null, compared: readonly string[] = this.compared): void {
    if (this.panel !== null) {
      this.run = run;
      this.compared = compared;
      this.panel.reveal();
      this.publish();
      return;
    }
    const [kept] = tabsOfPanel(DASHBOARD_PANEL.view);
    if (kept === undefined) {
      this.create({ run, compared });
    } else {
      void this.bringBack(kept, { run, compared }).catch((error: unknown) => report(error, this.services.log));
    }
  }

  /**
   * Shows runs over each other, the first of them as the one that is looked at. Those of other tasks are left out, and
   * that is said.
   */
  openCompared([first, ...others]: readonly string[]): void {
    const run = first ?? null;
    const reader = this.services.store.reader();
    const same = run === null || reader === null ? [] : ofSameTask(others, run, (id) => this.taskOf(reader, id));
    const left = others.length - same.length;
    this.open(run, same.slice(0, COMPARED_MOST));
    if (left > 0) {
      void window.showInformationMessage(
        `${left === 1 ? 'One of the selected runs solves another task and is' : `${String(left)} of the selected runs solve other tasks and are`} not compared.`,
      );
    }
  }

  /** What a run is evaluated on; its configuration never changes once it has begun. */
  private taskOf(reader: StoreReader, run: string): RunTask {
    const task = this.tasks.get(run) ?? taskOf(reader.runConfig(run));
    this.tasks.set(run, task);
    return task;
  }

  /** A run was deleted: the newest is shown in its place. */
  forget(run: string): void {
    this.compared = this.compared.filter((one) => one !== run);
    if (this.run === run) {
      this.run = null;
    }
    this.publish();
  }

  /** Brings the panel back after a reload; a second tab of it, which a window may have kept, goes. */
  restore(panel: WebviewPanel, state: unknown): void {
    if (this.panel !== null) {
      panel.dispose();
      return;
    }
    const kept = isDashboardState(state) ? state : null;
    const { wanted } = this;
    this.wanted = null;
    this.run = wanted === null ? (kept?.run ?? null) : wanted.run;
    // Without runs that were asked for, those that it compared before.
    this.compared = wanted !== null && wanted.compared.length > 0 ? wanted.compared : (kept?.compared ?? []);
    this.adopt(panel);
  }

  /** Shows the tab that was kept over a reload instead of a second one. */
  private async bringBack(tab: Tab, wanted: Shown): Promise<void> {
    this.wanted = wanted;
    if (await bringBack(tab)) {
      return;
    }
    this.wanted = null;
    this.create(wanted);
  }

  private create({ run, compared }: Shown): void {
    this.run = run;
    this.compared = compared;
    this.adopt(createPanel(DASHBOARD_PANEL, this.services, ViewColumn.Active));
  }

  private adopt(panel: WebviewPanel): void {
    const disposables = new Disposables();
    const throttle = disposables.add(
      new Throttle(TELL_MILLISECONDS, () => {
        this.publish();
      }),
    );
    this.panel = panel;
    this.door = new WebviewDoor(panel, DASHBOARD_PANEL, this.services, (message) => {
      this.receive(message);
    });
    disposables.add(
      this.services.store.onDidChange(() => {
        throttle.trigger();
      }),
    );
    disposables.add(
      this.services.runs.onDidChange(() => {
        throttle.trigger();
      }),
    );
    panel.onDidDispose(() => {
      disposables.dispose();
      this.panel = null;
      this.door = null;
      this.compared = [];
    });
  }

  private receive(message: DashboardToHost): void {
    switch (message.type) {
      case 'ready':
        this.sent.clear();
        this.publish();
        break;
      case 'choose':
        if (!this.offered.has(message.run)) {
          break;
        }
        this.run = message.run;
        this.compared = this.compared.filter((run) => run !== message.run);
        this.publish();
        break;
      case 'compare':
        this.compared = message.runs.filter((run) => this.offered.has(run));
        this.publish();
        break;
      case 'openRound':
        if (this.offered.has(message.run)) {
          void this.showRound(message.run, message.phase, message.iteration).catch((error: unknown) =>
            report(error, this.services.log),
          );
        }
        break;
      case 'copy':
        this.later(copyConfirmed(message.text));
        break;
      case 'startRun':
        void commands.executeCommand('c3.startRun');
        break;
      case 'resumeRun':
        this.later(this.resume(message.run));
        break;
      case 'cancelRun':
        this.cancel();
        break;
      case 'taxonomy':
        if (this.offered.has(message.run)) {
          void commands.executeCommand('c3.inspectTaxonomy', message.run);
        }
        break;
      case 'findLosses':
        if (this.offered.has(message.run)) {
          this.findLosses(message.run);
        }
        break;
      case 'openMessage':
        this.openMessage(message.message);
        break;
    }
  }

  /** A run loads a model and computes: the user is asked, about the run that is shown. */
  private async resume(run: string): Promise<void> {
    const { shown } = this;
    if (shown?.id !== run) {
      return;
    }
    if (await confirmed(`Resume the run "${oneLine(shown.title, 100)}"?`, 'Resume')) {
      await commands.executeCommand('c3.resumeRun', run);
    }
  }

  /** Only the run that is shown, while it is in progress; it can be resumed. */
  private cancel(): void {
    const run = this.shown?.id;
    if (run !== undefined && this.services.runs.current?.run === run) {
      void commands.executeCommand('c3.cancelRun', run);
    }
  }

  /** Looks for what loses the episodes of a run, and shows it where they are shown. */
  findLosses(run: string): void {
    this.later(
      this.losses.find(this.services.store.reader(), run, () => {
        this.publish();
      }),
    );
  }

  private later(work: Promise<void>): void {
    work.catch((error: unknown) => report(error, this.services.log));
  }

  /** Publishes what is known at once, and reads on from there. */
  private publish(): void {
    this.attempt((reader) => {
      const runs = reader?.runs(0, RUNS_SHOWN) ?? [];
      const run = reader === null ? undefined : this.chosen(reader, runs);
      if (reader === null || run === undefined) {
        this.door?.post({ type: 'empty' });
        return;
      }
      const compared = ofSameTask(
        this.compared.filter((id) => runs.some((candidate) => candidate.id === id)),
        run.id,
        (id) => this.taskOf(reader, id),
      ).flatMap((id) => runs.find((candidate) => candidate.id === id) ?? []);
      const shown = [run, ...compared].map(({ id }) => id);
      for (const id of this.sent.keys()) {
        if (!shown.includes(id)) {
          this.sent.delete(id);
        }
      }
      this.offered = new Set([...runs, run].map(({ id }) => id));
      this.shown = run;
      this.door?.post({ type: 'snapshot', snapshot: this.snapshot(reader, runs, run, compared) });
      for (const id of shown) {
        this.sendSteps(id);
      }
      this.readOn(shown, runs);
    });
  }

  /**
   * One turn of reading after another, each followed by the editor's own work, until nothing is left or something newer
   * is sent.
   */
  private readOn(shown: readonly string[], runs: readonly RunRecord[]): void {
    if (this.reading !== null) {
      clearImmediate(this.reading);
    }
    this.reading = setImmediate(() => {
      this.reading = null;
      this.attempt((reader) => {
        if (reader === null) {
          return;
        }
        const until = performance.now() + SLICE_MILLISECONDS;
        let open = true;
        while (open && performance.now() < until) {
          open =
            shown.some((id) => this.histories.advance(reader, id)) ||
            this.outcomes.advance(reader, runs) ||
            this.readRemoval(reader, shown[0]);
        }
        for (const id of shown) {
          this.sendSteps(id);
        }
        if (open) {
          this.readOn(shown, runs);
        } else if (
          this.outcomesTold !== this.outcomes.of(runs).length ||
          this.removalTold !== this.removalOf(shown[0])
        ) {
          this.publish();
        }
      });
    });
  }

  /** Reads on of a run that credits by removal; none of another has a contribution. */
  private readRemoval(reader: StoreReader, run: string | undefined): boolean {
    const rows = run === undefined ? [] : this.histories.rows(run);
    return run !== undefined && rows.at(-1)?.contributions !== undefined
      ? this.removals.advance(reader, run, rows.length)
      : false;
  }

  private readonly removalOf = (run: string | undefined): RemovalOutcomes | null =>
    run === undefined ? null : this.removals.of(run);

  private sendSteps(run: string): void {
    const rows = this.histories.rows(run);
    const from = this.sent.get(run) ?? 0;
    if (rows.length === from) {
      return;
    }
    // Fewer than were sent: they were read anew.
    const start = rows.length < from ? 0 : from;
    this.door?.post({ type: 'steps', window: { run, from: start, rows: rows.slice(start) } });
    this.sent.set(run, rows.length);
  }

  /** Works with the store while a page listens; what fails is shown in the panel. */
  private attempt(work: (reader: StoreReader | null) => void): void {
    if (this.door?.open !== true) {
      return;
    }
    try {
      work(this.services.store.reader());
    } catch (error) {
      this.services.log.error(messageOf(error));
      this.door.post({ type: 'failed', message: messageOf(error) });
    }
  }

  private chosen(reader: StoreReader, runs: readonly RunRecord[]): RunRecord | undefined {
    return this.run === null ? runs[0] : (runs.find((candidate) => candidate.id === this.run) ?? reader.run(this.run));
  }

  private snapshot(
    reader: StoreReader,
    runs: readonly RunRecord[],
    run: RunRecord,
    compared: readonly RunRecord[],
  ): DashboardSnapshot {
    const current = this.services.runs.current;
    const outcomes = this.outcomes.of(runs);
    this.outcomesTold = outcomes.length;
    const removal = this.removalOf(run.id);
    this.removalTold = removal;
    return {
      runs: runs.map(({ id, title, createdAt }) => ({
        id,
        title,
        started: new Date(createdAt).toLocaleString(),
        task: this.taskOf(reader, id),
      })),
      run,
      status: shownStatus(run, isBeingWritten(reader.path)),
      compared,
      evaluations: [run, ...compared].map((one) => evaluationsOf(one, reader.evaluations(one.id))),
      regions: [run, ...compared].map((one) => regionFacts(reader.runConfig(one.id))),
      models: [run, ...compared].map((one) => roleModels(reader.runConfig(one.id))),
      losses: this.losses.shown(reader, run.id),
      ledger: reader.latestLedger(run.id),
      judge: judgeWordsIn(reader.runConfig(run.id)),
      outcomes,
      removal,
      live:
        current?.run === run.id
          ? {
              stage: current.stage,
              done: current.done,
              total: current.total,
              remainingSeconds: current.remainingSeconds,
            }
          : null,
    };
  }
}

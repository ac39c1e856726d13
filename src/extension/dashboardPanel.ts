/** The run dashboard: one panel, which shows the run chosen in it. */
import { commands, ViewColumn, window, type WebviewPanel } from 'vscode';
import { isDashboardState, isDashboardToHost, type DashboardFromHost, type DashboardSnapshot, type DashboardToHost } from '../shared/dashboardProtocol.ts';
import { messageOf } from '../shared/errors.ts';
import { shownStatus } from '../shared/runStatus.ts';
import type { StoreReader } from '../store/reader.ts';
import { Disposables } from './disposables.ts';
import type { Services } from './services.ts';
import { StepHistory } from './stepHistory.ts';
import { isBeingWritten } from './storeOwner.ts';
import { Throttle } from './throttle.ts';
import { webviewFolder, WebviewDoor } from './webviewDoor.ts';

export const DASHBOARD_VIEW = 'c3.dashboard';

/** The panel is told at most this often. */
const TELL_MILLISECONDS = 500;
/** Runs in the chooser, newest first. */
const RUNS_SHOWN = 200;

export class Dashboard {
  private readonly services: Services;
  private readonly history = new StepHistory();
  private panel: WebviewPanel | null = null;
  private door: WebviewDoor<DashboardToHost, DashboardFromHost> | null = null;
  /** Null: the newest run. */
  private run: string | null = null;

  constructor(services: Services) {
    this.services = services;
  }

  /** Shows the run, or the newest when none is named. */
  open(run: string | null): void {
    this.run = run;
    if (this.panel === null) {
      const panel = window.createWebviewPanel(DASHBOARD_VIEW, 'Run dashboard', ViewColumn.Active, {
        enableScripts: true,
        localResourceRoots: [webviewFolder(this.services.extensionUri)],
      });
      this.adopt(panel);
    } else {
      this.panel.reveal();
      this.tell();
    }
  }

  /** Brings the panel back after a reload. */
  restore(panel: WebviewPanel, state: unknown): void {
    if (this.panel !== null) {
      panel.dispose();
      return;
    }
    this.run = isDashboardState(state) ? state.run : null;
    this.adopt(panel);
  }

  private adopt(panel: WebviewPanel): void {
    const disposables = new Disposables();
    const throttle = disposables.add(new Throttle(TELL_MILLISECONDS, () => { this.tell(); }));
    this.panel = panel;
    this.door = new WebviewDoor(panel, 'dashboard', this.services, isDashboardToHost, (message) => { this.receive(message); });
    disposables.add(this.services.store.onDidChange(() => { throttle.trigger(); }));
    disposables.add(this.services.runs.onDidChange(() => { throttle.trigger(); }));
    panel.onDidDispose(() => {
      disposables.dispose();
      this.panel = null;
      this.door = null;
    });
  }

  private receive(message: DashboardToHost): void {
    switch (message.type) {
      case 'ready': this.tell(); break;
      case 'choose': this.run = message.run; this.tell(); break;
      case 'startRun': void commands.executeCommand('c3.startRun'); break;
      case 'resumeRun': void commands.executeCommand('c3.resumeRun', message.run); break;
      case 'cancelRun': this.services.runs.cancel(); break;
      case 'taxonomy': void commands.executeCommand('c3.inspectTaxonomy', message.run); break;
    }
  }

  private tell(): void {
    if (this.door?.open !== true) return;
    try {
      const reader = this.services.store.reader();
      const snapshot = reader === null ? null : this.snapshot(reader);
      this.door.post(snapshot === null ? { type: 'empty' } : { type: 'snapshot', snapshot });
    } catch (error) {
      this.services.log.error(messageOf(error));
      this.door.post({ type: 'failed', message: messageOf(error) });
    }
  }

  private snapshot(reader: StoreReader): DashboardSnapshot | null {
    const runs = reader.runs(0, RUNS_SHOWN);
    const run = this.run === null ? runs[0] : runs.find((candidate) => candidate.id === this.run) ?? reader.run(this.run);
    if (run === undefined) return null;
    const current = this.services.runs.current;
    return {
      runs: runs.map(({ id, title, createdAt }) => ({ id, title: `${title}, ${new Date(createdAt).toLocaleString()}` })),
      run,
      status: shownStatus(run, isBeingWritten(reader.path)),
      ...this.history.read(reader, run.id),
      live: current?.run === run.id ? { stage: current.stage, done: current.done, total: current.total } : null,
    };
  }
}

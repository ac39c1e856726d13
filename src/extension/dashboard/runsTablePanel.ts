/** The runs table: runs against the hyperparameters in which they differ, to choose what the dashboard compares. */
import { commands, ViewColumn, type Memento, type WebviewPanel } from 'vscode';
import { messageOf } from '../../shared/errors.ts';
import { shownStatus, type RunRecord } from '../../domain/run.ts';
import {
  RUNS_PANEL,
  RUNS_LISTED,
  settingsOf,
  type RunsTableFromHost,
  type RunsTableToHost,
  type RunTableRow,
} from '../../shared/protocols/runsTable.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import { isColumnChoice, NO_CHOICE } from '../../shared/protocols/columnChoice.ts';
import { Disposables } from '../common/disposables.ts';
import { report } from '../common/report.ts';
import { saveTable } from '../common/saveTable.ts';
import { runsCsv } from './runsCsv.ts';
import type { Services } from '../services.ts';
import { isBeingWritten } from '../engine/storeOwner.ts';
import { Throttle } from '../common/throttle.ts';
import { createPanel, WebviewDoor } from '../webview/webviewDoor.ts';

/** Where the workspace keeps which columns are shown. */
const COLUMNS_KEY = 'c3.runColumns';
/** The panel is updated at most this often. */
const TELL_MILLISECONDS = 1000;

export class RunsTable {
  private readonly services: Services;
  private readonly keeper: Pick<Memento, 'get' | 'update'>;
  private readonly compare: (runs: readonly string[]) => void;
  private panel: WebviewPanel | null = null;
  /** Settings never change once a run has begun. */
  private readonly settings = new Map<string, Readonly<Record<string, string>>>();
  private selected: string | null = null;
  /** Runs that were sent to the page: it may ask about no others. */
  private offered: ReadonlySet<string> = new Set();

  /**
   * @param keeper keeps which columns are shown
   * @param compare shows runs over each other
   */
  constructor(services: Services, keeper: Pick<Memento, 'get' | 'update'>, compare: (runs: readonly string[]) => void) {
    this.services = services;
    this.keeper = keeper;
    this.compare = compare;
  }

  /** Shows the table. @param selected the run to bring into sight */
  open(selected: string | null): void {
    this.selected = selected;
    if (this.panel !== null) {
      this.panel.reveal();
      return;
    }
    this.adopt(createPanel(RUNS_PANEL, this.services, ViewColumn.Active));
  }

  /** Brings the panel back after a reload. */
  restore(panel: WebviewPanel): void {
    if (this.panel === null) {
      this.adopt(panel);
    } else {
      panel.dispose();
    }
  }

  private adopt(panel: WebviewPanel): void {
    const { services } = this;
    const disposables = new Disposables();
    const door = new WebviewDoor<RunsTableToHost, RunsTableFromHost>(panel, RUNS_PANEL, services, (message) => {
      this.receive(message, door);
    });
    const throttle = disposables.add(
      new Throttle(TELL_MILLISECONDS, () => {
        this.publish(door);
      }),
    );
    this.panel = panel;
    disposables.add(
      services.store.onDidChange(() => {
        throttle.trigger();
      }),
    );
    disposables.add(
      services.runs.onDidChange(() => {
        throttle.trigger();
      }),
    );
    panel.onDidDispose(() => {
      disposables.dispose();
      this.panel = null;
    });
  }

  private receive(message: RunsTableToHost, door: WebviewDoor<RunsTableToHost, RunsTableFromHost>): void {
    switch (message.type) {
      case 'ready':
        this.publish(door);
        break;
      case 'compare':
        this.compare(message.runs.filter((run) => this.offered.has(run)));
        break;
      case 'episodes':
        if (this.offered.has(message.run)) {
          void commands.executeCommand('c3.openEpisodes', message.run);
        }
        break;
      case 'columns':
        void this.keeper.update(COLUMNS_KEY, message.columns);
        break;
      case 'saveCsv':
        saveTable('runs', 'csv', runsCsv(this.rowsOf(message.runs))).catch((error: unknown) =>
          report(error, this.services.log),
        );
        break;
      case 'startRun':
        void commands.executeCommand('c3.startRun');
        break;
    }
  }

  private publish(door: WebviewDoor<RunsTableToHost, RunsTableFromHost>): void {
    if (!door.open) {
      return;
    }
    try {
      const reader = this.services.store.reader();
      const runs = reader?.runs(0, RUNS_LISTED) ?? [];
      const rows = reader === null ? [] : runs.map((run) => this.rowOf(reader, run, isBeingWritten(reader.path)));
      this.offered = new Set(rows.map(({ id }) => id));
      const kept = this.keeper.get(COLUMNS_KEY);
      door.post({
        type: 'runs',
        rows,
        omitted: (reader?.countRuns() ?? 0) - runs.length,
        selected: this.selected,
        columns: isColumnChoice(kept) ? kept : NO_CHOICE,
      });
      this.selected = null;
    } catch (error) {
      this.services.log.error(messageOf(error));
      door.post({ type: 'failed', message: messageOf(error) });
    }
  }

  private rowsOf(runs: readonly string[]): readonly RunTableRow[] {
    const reader = this.services.store.reader();
    return reader === null
      ? []
      : runs
          .filter((run) => this.offered.has(run))
          .map((run) => this.rowOf(reader, reader.run(run), isBeingWritten(reader.path)));
  }

  private rowOf(
    reader: Pick<StoreReader, 'runConfig' | 'latestLedger'>,
    run: RunRecord,
    beingWritten: boolean,
  ): RunTableRow {
    const { id, title, tags, note, method, seed, createdAt, steps, plannedSteps, summary } = run;
    const settings = this.settings.get(id) ?? settingsOf(reader.runConfig(id));
    this.settings.set(id, settings);
    const cost = summary ?? reader.latestLedger(id);
    return {
      id,
      title,
      tags,
      note,
      method,
      seed,
      createdAt,
      steps,
      plannedSteps,
      settings,
      status: shownStatus(run, beingWritten),
      accuracyBefore: summary?.accuracy.before ?? null,
      accuracyAfter: summary?.accuracy.after ?? null,
      passAt1Before: summary?.passAt1.before ?? null,
      passAt1After: summary?.passAt1.after ?? null,
      evaluatorCalls: cost?.evaluatorCalls ?? null,
      tokens: cost === null ? null : cost.tokens.prompt - cost.tokens.reused + cost.tokens.completion,
      seconds: cost?.seconds ?? null,
    };
  }
}

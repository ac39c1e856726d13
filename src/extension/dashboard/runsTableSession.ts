/** The content of the runs table: runs with the hyperparameters in which they differ. */

import { shownStatus, type RunRecord } from '../../domain/run.ts';
import { isColumnChoice, NO_CHOICE } from '../../shared/protocols/columnChoice.ts';
import {
  RUNS_LISTED,
  readSettings,
  type RUNS_PANEL,
  type RunsTableFromHost,
  type RunTableRow,
  listSettingKeys,
} from '../../shared/protocols/runsTable.ts';
import { formatCsv, type CsvValue } from '../../shared/text/csv.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import type { ListKeeper } from '../common/listKeeper.ts';
import type { EventsOf, Page, SessionOf } from '../webview/panelSession.ts';

/** The workspace state's key for the choice of columns. */
const COLUMNS_KEY = 'c3.runColumns';
/** Minimum time between two updates of the page. */
const TELL_MILLISECONDS = 1000;

export interface RunsTableSurroundings {
  /** Null while there is no store. @throws if the store cannot be read, with the reason */
  readonly reader: () => StoreReader | null;
  /** Storage for the choice of columns. */
  readonly keeper: ListKeeper;
  readonly isBeingWritten: (path: string) => boolean;
  /** Shows runs for comparison in the dashboard. */
  readonly compare: (runs: readonly string[]) => void;
  readonly command: (name: 'openEpisodes' | 'startRun', ...run: readonly string[]) => Promise<void>;
  /** Saves a table to a file that the user chooses. */
  readonly save: (name: string, kind: 'csv', text: string) => Promise<unknown>;
}

/** The arguments with which the table is opened. */
export interface RunsTableOpening {
  /** The run to reveal. */
  readonly selected: string | null;
}

export class RunsTableSession implements SessionOf<typeof RUNS_PANEL> {
  private readonly page: Page<RunsTableFromHost>;
  readonly failsBeside = true;
  readonly following = {
    milliseconds: TELL_MILLISECONDS,
    publish: () => {
      this.publish();
    },
  };
  private readonly around: RunsTableSurroundings;
  /** Cached settings, by run. They do not change once a run has begun. */
  private readonly settings = new Map<string, Readonly<Record<string, string>>>();
  private selected: string | null;
  /** Runs that were sent to the page. Requests about other runs are ignored. */
  private offered: ReadonlySet<string> = new Set();
  readonly events: EventsOf<typeof RUNS_PANEL> = {
    ready: () => {
      this.publish();
    },
    compare: ({ runs }) => {
      this.around.compare(runs.filter((run) => this.offered.has(run)));
    },
    episodes: async ({ run }) => {
      if (this.offered.has(run)) {
        await this.around.command('openEpisodes', run);
      }
    },
    columns: async ({ columns }) => {
      await this.around.keeper.update(COLUMNS_KEY, columns);
    },
    saveCsv: async ({ runs }) => {
      await this.around.save('runs', 'csv', formatRunsCsv(this.rowsOf(runs)));
    },
    startRun: () => this.around.command('startRun'),
  };

  constructor({ selected }: RunsTableOpening, page: Page<RunsTableFromHost>, around: RunsTableSurroundings) {
    this.selected = selected;
    this.page = page;
    this.around = around;
  }

  show({ selected }: RunsTableOpening): void {
    this.selected = selected;
    this.publish();
  }

  private publish(): void {
    if (!this.page.isListening) {
      return;
    }
    try {
      const reader = this.around.reader();
      const runs = reader?.runs(0, RUNS_LISTED) ?? [];
      const rows = reader === null ? [] : this.rowsFrom(reader, runs);
      this.offered = new Set(rows.map(({ id }) => id));
      const kept = this.around.keeper.get(COLUMNS_KEY);
      this.page.post({
        type: 'runs',
        rows,
        omitted: (reader?.countRuns() ?? 0) - runs.length,
        selected: this.selected,
        columns: isColumnChoice(kept) ? kept : NO_CHOICE,
      });
      this.selected = null;
    } catch (error) {
      this.page.fail(error);
    }
  }

  private rowsOf(runs: readonly string[]): readonly RunTableRow[] {
    const reader = this.around.reader();
    return reader === null
      ? []
      : this.rowsFrom(
          reader,
          runs.filter((run) => this.offered.has(run)).map((run) => reader.run(run)),
        );
  }

  private rowsFrom(reader: StoreReader, runs: readonly RunRecord[]): readonly RunTableRow[] {
    const beingWritten = this.around.isBeingWritten(reader.path);
    return runs.map((run) => this.rowOf(reader, run, beingWritten));
  }

  private rowOf(
    reader: Pick<StoreReader, 'runConfig' | 'latestLedger'>,
    run: RunRecord,
    beingWritten: boolean,
  ): RunTableRow {
    const { id, title, tags, note, method, seed, createdAt, steps, plannedSteps, summary } = run;
    const settings = this.settings.get(id) ?? readSettings(reader.runConfig(id));
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

// Runs as comma-separated values: outcomes, costs and settings

const OUTCOMES = ['accuracyBefore', 'accuracyAfter', 'passAt1Before', 'passAt1After'] as const;
const BEFORE_OUTCOMES = ['id', 'title', 'status', 'method', 'seed', 'steps', 'plannedSteps', 'createdAt'] as const;
const COSTS = ['evaluatorCalls', 'tokens', 'seconds'] as const;

/** Formats one line for each run, in the given order. A missing value is an empty cell. */
export function formatRunsCsv(rows: readonly RunTableRow[]): string {
  const { all } = listSettingKeys(rows);
  const header = [
    ...BEFORE_OUTCOMES,
    'tags',
    'note',
    ...OUTCOMES.flatMap((name) => [name, `${name}Low`, `${name}High`, `${name}N`]),
    ...COSTS,
    ...all,
  ];
  return formatCsv(
    header,
    rows.map((row) => [
      ...BEFORE_OUTCOMES.map((name) => row[name]),
      row.tags.join(', '),
      row.note,
      ...OUTCOMES.flatMap((name): CsvValue[] => {
        const { value = null, low = null, high = null, n = null } = row[name] ?? {};
        return [value, low, high, n];
      }),
      ...COSTS.map((name) => row[name]),
      ...all.map((key) => formatSetting(row, key)),
    ]),
  );
}

/** Returns a setting without the quotes of its JSON, or null if it is not set. */
function formatSetting({ settings }: RunTableRow, key: string): string | null {
  const stored = Object.hasOwn(settings, key) ? settings[key] : undefined;
  return stored === undefined ? null : stored.replace(/^"(.*)"$/u, '$1');
}

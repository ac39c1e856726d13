/** The content of the run dashboard: the chosen run, the compared runs, and their data, read in slices. */

import type { Phase } from '../../domain/episode.ts';
import { listEvaluations } from '../../domain/evaluation.ts';
import { describeStoredJudge, shownStatus, type RunRecord } from '../../domain/run.ts';
import {
  readRoleModels,
  readRegionFacts,
  type RemovalOutcomes,
  MOST_ROLLOUTS,
  summarizeRemovals,
  listRemovalRollouts,
  type RemovalRollout,
  type RemovalRows,
  addCosts,
  subtractCosts,
} from '../../domain/stepRows.ts';
import {
  filterSameTask,
  type DASHBOARD_PANEL,
  type DashboardFromHost,
  type DashboardSnapshot,
  type RunTask,
  type ShownLosses,
  type RunOutcome,
} from '../../shared/protocols/dashboardProtocol.ts';
import type { RunProgress } from '../../shared/protocols/jobs.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import type { EventsOf, Page, SessionOf } from '../webview/panelSession.ts';
import { readRunTask } from './runTask.ts';
import { StepHistories, sumEvaluationCosts } from './stepHistories.ts';

/** Minimum time between two updates of the page. */
const TELL_MILLISECONDS = 500;
/** Maximum number of runs in the choosers and in the Pareto chart, newest first. */
const RUNS_SHOWN = 200;
/** Maximum duration of one slice of reading, after which the editor continues. */
const SLICE_MILLISECONDS = 20;

/** The arguments with which the dashboard is opened. */
export interface DashboardOpening {
  /** The chosen run, or null for the newest. */
  readonly run: string | null;
  /** The compared runs, or null to keep those of the panel. */
  readonly compared: readonly string[] | null;
}

export interface DashboardSurroundings {
  /** Null while there is no store. @throws if the store cannot be read, with the reason */
  readonly reader: () => StoreReader | null;
  /** The run in progress of this window, or null. */
  readonly current: () => RunProgress | null;
  readonly isBeingWritten: (path: string) => boolean;
  /** The known causes of lost episodes of a run, or null if they cannot be computed here. */
  readonly lossesOf: (reader: StoreReader, run: string) => ShownLosses | null;
  readonly findLosses: (run: string) => Promise<void>;
  /** Asks which change of a role to try. */
  readonly tryChange: (run: string, role: string) => Promise<void>;
  readonly showRound: (run: string, phase: Phase, iteration: number) => Promise<void>;
  readonly openMessage: (message: number) => void;
  /** Copies a table of the page to the clipboard after the user's confirmation. */
  readonly copy: (text: string) => Promise<void>;
  /** Asks for confirmation before a model is loaded. */
  readonly confirmed: (question: string, yes: string) => Promise<boolean>;
  readonly command: (
    name: 'startRun' | 'resumeRun' | 'cancelRun' | 'inspectTaxonomy',
    ...run: readonly string[]
  ) => Promise<void>;
}

export class DashboardSession implements SessionOf<typeof DASHBOARD_PANEL> {
  private readonly page: Page<DashboardFromHost>;
  readonly failsBeside = true;
  readonly following = { milliseconds: TELL_MILLISECONDS, publish: () => this.publish() };
  private readonly around: DashboardSurroundings;
  private readonly histories = new StepHistories();
  private readonly outcomes = new RunOutcomes();
  private readonly removals = new RunRemovals();
  private readonly tasks = new Map<string, RunTask>();
  /** The chosen run, or null for the newest. */
  private run: string | null;
  private compared: readonly string[];
  /** Runs that were sent to the page. Requests about other runs are ignored. */
  private offered: ReadonlySet<string> = new Set();
  private shown: RunRecord | null = null;
  /** Number of steps that were sent to the page, by run. */
  private readonly sent = new Map<string, number>();
  private outcomesTold = 0;
  private removalTold: RemovalOutcomes | null = null;
  private reading: NodeJS.Immediate | null = null;
  readonly events: EventsOf<typeof DASHBOARD_PANEL> = {
    ready: () => {
      this.sent.clear();
      this.publish();
    },
    choose: ({ run }) => {
      if (this.offered.has(run)) {
        this.run = run;
        this.compared = this.compared.filter((one) => one !== run);
        this.publish();
      }
    },
    compare: ({ runs }) => {
      this.compared = runs.filter((run) => this.offered.has(run));
      this.publish();
    },
    openRound: async ({ run, phase, iteration }) => {
      if (this.offered.has(run)) {
        await this.around.showRound(run, phase, iteration);
      }
    },
    copy: ({ text }) => this.around.copy(text),
    startRun: () => this.around.command('startRun'),
    // Asks first, since the run loads a model. Only the run that is shown can be resumed.
    resumeRun: async ({ run }) => {
      const { shown } = this;
      if (
        shown?.id === run &&
        (await this.around.confirmed(`Resume the run "${toOneLine(shown.title, 100)}"?`, 'Resume'))
      ) {
        await this.around.command('resumeRun', run);
      }
    },
    // Cancels only the run that is shown, while it is in progress. It can be resumed.
    cancelRun: async () => {
      const run = this.shown?.id;
      if (run !== undefined && this.around.current()?.run === run) {
        await this.around.command('cancelRun', run);
      }
    },
    taxonomy: async ({ run }) => {
      if (this.offered.has(run)) {
        await this.around.command('inspectTaxonomy', run);
      }
    },
    findLosses: async ({ run }) => {
      if (this.offered.has(run)) {
        await this.around.findLosses(run);
      }
    },
    tryChange: async ({ run, role }) => {
      if (this.offered.has(run)) {
        await this.around.tryChange(run, role);
      }
    },
    openMessage: ({ message }) => this.around.openMessage(message),
  };

  constructor({ run, compared }: DashboardOpening, page: Page<DashboardFromHost>, around: DashboardSurroundings) {
    this.run = run;
    this.compared = compared ?? [];
    this.page = page;
    this.around = around;
  }

  /** The run that is shown, or null if there is none yet. */
  get shownRun(): string | null {
    return this.shown?.id ?? null;
  }

  show({ run, compared }: DashboardOpening): void {
    this.run = run;
    this.compared = compared ?? this.compared;
    this.publish();
  }

  /** Removes a deleted run, and shows the newest in its place. */
  forget(run: string): void {
    this.compared = this.compared.filter((one) => one !== run);
    if (this.run === run) {
      this.run = null;
    }
    this.publish();
  }

  dispose(): void {
    if (this.reading !== null) {
      clearImmediate(this.reading);
    }
  }

  /** Returns the task of a run. It is cached: a configuration does not change once the run has begun. */
  private taskOf(reader: StoreReader, run: string): RunTask {
    const task = this.tasks.get(run) ?? readRunTask(reader.runConfig(run));
    this.tasks.set(run, task);
    return task;
  }

  /** Publishes the known data at once, and then reads the rest. */
  publish(): void {
    this.attempt((reader) => {
      const runs = reader?.runs(0, RUNS_SHOWN) ?? [];
      const run = reader === null ? undefined : this.chosen(reader, runs);
      if (reader === null || run === undefined) {
        this.page.post({ type: 'empty' });
        return;
      }
      const compared = filterSameTask(
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
      this.page.post({ type: 'snapshot', snapshot: this.snapshot(reader, runs, run, compared) });
      for (const id of shown) {
        this.sendSteps(id);
      }
      this.readOn(shown, runs);
    });
  }

  /** Reads in slices, between which the editor continues, until all is read or newer data is published. */
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

  /** Reads the next step of a run that credits by removal. Other runs have no contributions. */
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
    // Fewer rows than were sent mean that the steps were read anew.
    const start = rows.length < from ? 0 : from;
    this.page.post({ type: 'steps', window: { run, from: start, rows: rows.slice(start) } });
    this.sent.set(run, rows.length);
  }

  /** Calls `work` with the store if a page is listening. Shows a failure in the panel. */
  private attempt(work: (reader: StoreReader | null) => void): void {
    if (!this.page.isListening) {
      return;
    }
    try {
      work(this.around.reader());
    } catch (error) {
      this.page.fail(error);
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
    const current = this.around.current();
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
      status: shownStatus(run, this.around.isBeingWritten(reader.path)),
      compared,
      evaluations: [run, ...compared].map((one) => listEvaluations(one, reader.evaluations(one.id))),
      regions: [run, ...compared].map((one) => readRegionFacts(reader.runConfig(one.id))),
      models: [run, ...compared].map((one) => readRoleModels(reader.runConfig(one.id))),
      losses: this.around.lossesOf(reader, run.id),
      ledger: reader.latestLedger(run.id),
      judge: describeStoredJudge(reader.runConfig(run.id)),
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

// Credits by outcome of runs that credit by removal, for the box plots. Rollouts come from steps at
// even distances, read one step at a time so that the editor stays responsive.

interface RemovalReading {
  /** The last step that was read. */
  step: number;
  /** Distance between the steps that are read. */
  stride: number;
  kept: { readonly step: number; readonly rollouts: readonly RemovalRollout[] }[];
  /** The outcomes of the kept rollouts; undefined until they are computed. */
  outcomes: RemovalOutcomes | null | undefined;
}

/** Maximum number of runs that are kept. The least recently read run is dropped first. */
const RUNS_KEPT = 6;

export class RunRemovals {
  private readonly runs = new Map<string, RemovalReading>();

  /** Returns the outcomes of a run, or null if nothing is read yet or the run has no solo rollouts. */
  of(run: string): RemovalOutcomes | null {
    const read = this.runs.get(run);
    if (read === undefined) {
      return null;
    }
    read.outcomes ??= summarizeRemovals(read.kept.flatMap(({ rollouts }) => rollouts));
    return read.outcomes;
  }

  /**
   * Reads the next finished step of a run.
   * @param finished the number of its finished steps
   * @returns true if there may be more
   */
  advance(reader: RemovalRows, run: string, finished: number): boolean {
    const read = this.runs.get(run) ?? { step: 0, stride: 1, kept: [], outcomes: undefined };
    this.runs.delete(run);
    this.runs.set(run, read);
    const [oldest] = this.runs.keys();
    if (this.runs.size > RUNS_KEPT && oldest !== undefined) {
      this.runs.delete(oldest);
    }
    const step = read.step + read.stride;
    if (step > finished) {
      return false;
    }
    read.step = step;
    const rollouts = listRemovalRollouts(reader, run, step);
    if (rollouts.length > 0) {
      read.kept.push({ step, rollouts });
      read.outcomes = undefined;
    }
    if (read.kept.reduce((sum, one) => sum + one.rollouts.length, 0) > MOST_ROLLOUTS) {
      // Keeps every second step, so that the memory is bounded for a run of any length.
      read.stride *= 2;
      read.kept = read.kept.filter((one) => one.step % read.stride === 0);
      read.step = read.kept.at(-1)?.step ?? 0;
    }
    return true;
  }
}

// Accuracy and cost of the store's runs. A finished run is read once.

type Reader = Pick<StoreReader, 'roundCost' | 'latestLedger' | 'evaluationNumbers' | 'runConfig'>;

export class RunOutcomes {
  private readonly known = new Map<string, RunOutcome | null>();

  /** Reads one more of the runs. @returns true if there may be more */
  advance(reader: Reader, runs: readonly RunRecord[]): boolean {
    const next = runs.find((run) => run.status === 'done' && !this.known.has(run.id));
    if (next === undefined) {
      return false;
    }
    this.known.set(next.id, readRunOutcome(reader, next));
    return true;
  }

  /** Returns the outcomes known so far, in the order of the runs. */
  of(runs: readonly RunRecord[]): readonly RunOutcome[] {
    return runs.flatMap(({ id }) => this.known.get(id) ?? []);
  }
}

const ZERO_COST = addCosts();

/**
 * Returns the outcome of a run, or null if it was not evaluated. A run without steps has its accuracy
 * before training.
 */
export function readRunOutcome(reader: Reader, { id, title, method, seed, summary }: RunRecord): RunOutcome | null {
  const accuracy =
    summary === null ? null : (summary.accuracy.after ?? (summary.steps === 0 ? summary.accuracy.before : null));
  if (accuracy === null) {
    return null;
  }
  const ledger = reader.latestLedger(id);
  // The ledger of the last step holds every evaluation but those after training.
  const evaluations = sumEvaluationCosts(reader, id, reader.evaluationNumbers(id), ({ step }) => step !== null);
  const { tokens, evaluatorCalls: calls } = ledger === null ? ZERO_COST : subtractCosts(evaluations, ledger);
  const cost = { tokens: tokens.prompt + tokens.completion, calls, seconds: summary?.seconds ?? 0 };
  return { run: id, title, method, seed, task: readRunTask(reader.runConfig(id)), ...cost, accuracy };
}

/**
 * What the run dashboard shows: the run that is looked at, others laid over it, and what is read of them bit by bit.
 */
import type { Phase } from '../../domain/episode.ts';
import { evaluationsOf } from '../../domain/evaluation.ts';
import { judgeWordsIn, shownStatus, type RunRecord } from '../../domain/run.ts';
import {
  roleModels,
  regionFacts,
  type RemovalOutcomes,
  MOST_ROLLOUTS,
  removalOutcomes,
  removalRollouts,
  type RemovalRollout,
  type RemovalRows,
  addCosts,
  costBetween,
} from '../../domain/stepRows.ts';
import {
  ofSameTask,
  type DASHBOARD_PANEL,
  type DashboardFromHost,
  type DashboardSnapshot,
  type RunTask,
  type ShownLosses,
  type RunOutcome,
} from '../../shared/protocols/dashboardProtocol.ts';
import type { RunProgress } from '../../shared/protocols/jobs.ts';
import { oneLine } from '../../shared/text/oneLine.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import type { EventsOf, Page, SessionOf } from '../webview/panelSession.ts';
import { taskOf } from './runTask.ts';
import { StepHistories, evaluationCost } from './stepHistories.ts';

/** The page is updated at most this often. */
const TELL_MILLISECONDS = 500;
/** Runs in the choosers and in the Pareto chart, newest first. */
const RUNS_SHOWN = 200;
/** The store is read for so long before the editor has its turn. */
const SLICE_MILLISECONDS = 20;

/** What the dashboard is opened with. */
export interface DashboardOpening {
  /** Null: the newest. */
  readonly run: string | null;
  /** Those over it; null for those that are compared already. */
  readonly compared: readonly string[] | null;
}

export interface DashboardSurroundings {
  /** Null while there is no store. @throws with the reason where it cannot be read */
  readonly reader: () => StoreReader | null;
  /** The run in progress of this window; null where there is none. */
  readonly current: () => RunProgress | null;
  readonly isBeingWritten: (path: string) => boolean;
  /** What loses the episodes of a run, as far as it is known; null where it cannot be asked here. */
  readonly lossesOf: (reader: StoreReader, run: string) => ShownLosses | null;
  readonly findLosses: (run: string) => Promise<void>;
  /** Asks what to try in the place of what a role does. */
  readonly tryChange: (run: string, role: string) => Promise<void>;
  /** Shows a round of a run in the side bar. */
  readonly showRound: (run: string, phase: Phase, iteration: number) => Promise<void>;
  readonly openMessage: (message: number) => void;
  /** Puts a table of the page on the clipboard, once the user agreed to it. */
  readonly copy: (text: string) => Promise<void>;
  /** Asks before something that loads a model and computes. */
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
  /** Null: the newest run. */
  private run: string | null;
  private compared: readonly string[];
  /** Runs that were sent to the page: it may ask about no others. */
  private offered: ReadonlySet<string> = new Set();
  private shown: RunRecord | null = null;
  /** How many steps of each run the page has. */
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
    // A run loads a model and computes: the user is asked, about the run that is shown.
    resumeRun: async ({ run }) => {
      const { shown } = this;
      if (
        shown?.id === run &&
        (await this.around.confirmed(`Resume the run "${oneLine(shown.title, 100)}"?`, 'Resume'))
      ) {
        await this.around.command('resumeRun', run);
      }
    },
    // Only the run that is shown, while it is in progress; it can be resumed.
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

  show({ run, compared }: DashboardOpening): void {
    this.run = run;
    this.compared = compared ?? this.compared;
    this.publish();
  }

  /** A run was deleted: the newest is shown in its place. */
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

  /** What a run is evaluated on; its configuration never changes once it has begun. */
  private taskOf(reader: StoreReader, run: string): RunTask {
    const task = this.tasks.get(run) ?? taskOf(reader.runConfig(run));
    this.tasks.set(run, task);
    return task;
  }

  /** Publishes what is known at once, and reads on from there. */
  publish(): void {
    this.attempt((reader) => {
      const runs = reader?.runs(0, RUNS_SHOWN) ?? [];
      const run = reader === null ? undefined : this.chosen(reader, runs);
      if (reader === null || run === undefined) {
        this.page.post({ type: 'empty' });
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
      this.page.post({ type: 'snapshot', snapshot: this.snapshot(reader, runs, run, compared) });
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
    this.page.post({ type: 'steps', window: { run, from: start, rows: rows.slice(start) } });
    this.sent.set(run, rows.length);
  }

  /** Works with the store while a page listens; what fails is shown in the panel. */
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
      evaluations: [run, ...compared].map((one) => evaluationsOf(one, reader.evaluations(one.id))),
      regions: [run, ...compared].map((one) => regionFacts(reader.runConfig(one.id))),
      models: [run, ...compared].map((one) => roleModels(reader.runConfig(one.id))),
      losses: this.around.lossesOf(reader, run.id),
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

// Credits by outcome of runs that credit by removal, for their boxes: rollouts of steps spread evenly over a run, read
// one step at a time, so that the editor is never held up.

interface Read {
  /** Steps that were looked at or passed over. */
  step: number;
  /** Of how many steps one is looked at. */
  stride: number;
  kept: { readonly step: number; readonly rollouts: readonly RemovalRollout[] }[];
  /** What is kept, put together; undefined where that is not done yet. */
  outcomes: RemovalOutcomes | null | undefined;
}

/** Runs that are kept; the one read longest ago is forgotten first. */
const RUNS_KEPT = 6;

export class RunRemovals {
  private readonly runs = new Map<string, Read>();

  /** Null while nothing is read, and for a run without solo rollouts. */
  of(run: string): RemovalOutcomes | null {
    const read = this.runs.get(run);
    if (read === undefined) {
      return null;
    }
    read.outcomes ??= removalOutcomes(read.kept.flatMap(({ rollouts }) => rollouts));
    return read.outcomes;
  }

  /** Reads the next finished step of a run. @param finished its finished steps @returns whether there may be more */
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
    const rollouts = removalRollouts(reader, run, step);
    if (rollouts.length > 0) {
      read.kept.push({ step, rollouts });
      read.outcomes = undefined;
    }
    if (read.kept.reduce((sum, one) => sum + one.rollouts.length, 0) > MOST_ROLLOUTS) {
      // Every second of them, on the way to a run of any length.
      read.stride *= 2;
      read.kept = read.kept.filter((one) => one.step % read.stride === 0);
      read.step = read.kept.at(-1)?.step ?? 0;
    }
    return true;
  }
}

// What the runs of a store reached and what training them took; a finished run is looked at once.

type Reader = Pick<StoreReader, 'roundCost' | 'latestLedger' | 'evaluationNumbers' | 'runConfig'>;

export class RunOutcomes {
  private readonly known = new Map<string, RunOutcome | null>();

  /** Looks at one more of the runs. @returns whether there may be more */
  advance(reader: Reader, runs: readonly RunRecord[]): boolean {
    const next = runs.find((run) => run.status === 'done' && !this.known.has(run.id));
    if (next === undefined) {
      return false;
    }
    this.known.set(next.id, outcomeOf(reader, next));
    return true;
  }

  /** The outcomes known so far, in the order of the runs. */
  of(runs: readonly RunRecord[]): readonly RunOutcome[] {
    return runs.flatMap(({ id }) => this.known.get(id) ?? []);
  }
}

const NOTHING = addCosts();

/** Null for a run that was not evaluated. One without steps is what it was before. */
export function outcomeOf(reader: Reader, { id, title, method, seed, summary }: RunRecord): RunOutcome | null {
  const accuracy =
    summary === null ? null : (summary.accuracy.after ?? (summary.steps === 0 ? summary.accuracy.before : null));
  if (accuracy === null) {
    return null;
  }
  const ledger = reader.latestLedger(id);
  // The ledger of the last step holds every evaluation but those after training.
  const evaluations = evaluationCost(reader, id, reader.evaluationNumbers(id), ({ step }) => step !== null);
  const { tokens, evaluatorCalls: calls } = ledger === null ? NOTHING : costBetween(evaluations, ledger);
  const cost = { tokens: tokens.prompt + tokens.completion, calls, seconds: summary?.seconds ?? 0 };
  return { run: id, title, method, seed, task: taskOf(reader.runConfig(id)), ...cost, accuracy };
}

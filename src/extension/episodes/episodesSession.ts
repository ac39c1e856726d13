/**
 * Answers the requests of the episodes panel: the order of a run's problems, windows of rows, and
 * transcripts to open.
 */

import {
  CLEAREST_FIRST,
  LOST_FIRST,
  lossSortKey,
  NO_PROBLEM_FILTER,
  type LostProblem,
  type LostProblemRow,
  type ProblemClass,
  type ProblemColumn,
  type ProblemFilter,
  type ProblemSort,
  type Problem,
} from '../../domain/problem.ts';
import { describeStoredJudge, type RunRecord, type ShownStatus } from '../../domain/run.ts';
import type { TaxonomyView } from '../../domain/taxonomy.ts';
import { C3Error, toErrorMessage } from '../../shared/errors.ts';
import { isColumnChoice, NO_CHOICE } from '../../shared/protocols/columnChoice.ts';
import {
  isSavedFilters,
  NO_PLACE,
  PROBLEM_WINDOW,
  type EPISODES_PANEL,
  type ClassState,
  type EpisodesFromHost,
  type EpisodesRun,
  type ProblemPlace,
  type SavedFilter,
  type ShownProblem,
} from '../../shared/protocols/episodesProtocol.ts';
import type { TranscriptTarget } from '../../shared/protocols/transcriptProtocol.ts';
import { formatCsv, type CsvValue } from '../../shared/text/csv.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import type { ListKeeper } from '../common/listKeeper.ts';
import { attemptForPage, type Page, type SessionOf, type AnswersOf, type EventsOf } from '../webview/panelSession.ts';

/** The workspace state's key for saved filters. */
const SAVED_KEY = 'c3.episodeFilters';
/** The workspace state's key for the choice of columns. */
const COLUMNS_KEY = 'c3.episodeColumns';
/** Maximum number of runs in the chooser, newest first. */
const RUNS_SHOWN = 200;
/** Pause before a growing run is sorted again, as a multiple of the time that the last sort took. */
const REST = 9;

/** Columns that are shown once the causes of lost problems have been searched. */
const LOSS_COLUMNS: readonly ProblemColumn[] = ['chance', 'lostBy'];

/** Classes of problems, by uidSha. */
export type ProblemClasses = ReadonlyMap<string, ProblemClass>;

/** The lost problems that were found, by uidSha, and the number of requested replays at that time. */
interface Losses {
  readonly replays: number;
  readonly found: ReadonlyMap<string, LostProblem>;
}
const NOT_SEARCHED: Losses = { replays: 0, found: new Map() };

const isSameOrder = (one: ProblemSort, other: ProblemSort): boolean =>
  one.column === other.column && one.descending === other.descending;

export type EpisodesReader = Pick<
  StoreReader,
  | 'path'
  | 'countReplays'
  | 'run'
  | 'runs'
  | 'problem'
  | 'runConfig'
  | 'returnScale'
  | 'problemIds'
  | 'problems'
  | 'problemFacets'
  | 'problemOpening'
>;

export interface EpisodesSurroundings {
  /** Null while there is no store. @throws if the store cannot be read, with the reason */
  readonly reader: () => EpisodesReader | null;
  readonly keeper: ListKeeper;
  readonly statusOf: (run: RunRecord, storePath: string) => ShownStatus;
  /** Asks the engine for the classes of a run's problems. */
  readonly classesOf: (run: string) => Promise<ProblemClasses>;
  /** Asks the engine for a run's lost problems that searches found. Returns none if it cannot answer. */
  readonly lostProblems: (run: string) => Promise<readonly LostProblemRow[]>;
  readonly askForName: () => Promise<string | undefined>;
  /** Saves a table to a file that the user chooses. @returns true if it was saved */
  readonly save: (name: string, kind: 'csv' | 'jsonl', text: string) => Promise<boolean>;
  /** Shows a notification. */
  readonly say: (words: string) => void;
  openTranscript(target: TranscriptTarget, message: number, beside: boolean): void;
  readonly command: (
    name: 'openDashboard' | 'inspectTaxonomy' | 'openRunsTable' | 'startRun',
    ...run: readonly string[]
  ) => Promise<void>;
  /** Runs work after a delay, unless it is disposed of before. */
  readonly later: (work: () => void, milliseconds: number) => { dispose(): void };
}

/** The arguments with which the panel is opened. */
export interface EpisodesOpening {
  /** The run, or null for the last shown or newest one. */
  readonly run: string | null;
  /** An instruction for the user in one sentence, or null. */
  readonly note: string | null;
}

export class EpisodesSession implements SessionOf<typeof EPISODES_PANEL> {
  private readonly page: Page<EpisodesFromHost>;
  private readonly around: EpisodesSurroundings;
  /** The run, or null for the newest one. */
  private run: string | null;
  private note: string | null;
  private filter: ProblemFilter = NO_PROBLEM_FILTER;
  private sort: ProblemSort = CLEAREST_FIRST;
  private place: ProblemPlace = NO_PLACE;
  private revision = 0;
  /** True once a page has sent its filter, sort order and place. */
  private isArranged = false;
  private ids: readonly number[] = [];
  /** The timer of the pause before a growing run is sorted again, or null. */
  private resting: { dispose(): void } | null = null;
  /** True if the store changed during that pause. */
  private again = false;
  /** Runs that were sent to the page. Requests about other runs are ignored. */
  private offered: ReadonlySet<string> = new Set();
  private readonly classes = new Map<string, { readonly classes: ProblemClasses | null; readonly state: ClassState }>();
  private readonly losses = new Map<string, Losses>();
  /** Runs about which the engine is being asked (null), or the timer of the pause after its answer. */
  private readonly asking = new Map<string, { dispose(): void } | null>();
  readonly answers: AnswersOf<typeof EPISODES_PANEL> = { rows: ({ revision, offset }) => this.rows(revision, offset) };
  readonly events: EventsOf<typeof EPISODES_PANEL> = {
    ready: ({ filter, sort, place }) => {
      this.isArranged = true;
      this.arrange(filter, sort, place);
      this.open();
    },
    list: async ({ filter, sort, place }) => {
      this.arrange(filter, sort, place);
      this.list();
      // Only the engine knows the classes. It is asked once for each run.
      if (sort.column === 'class' && this.run !== null && !this.classes.has(this.run)) {
        await this.classify();
      }
    },
    place: ({ place }) => {
      this.place = place;
    },
    open: ({ problem, round, beside }) => this.openTranscript(problem, round, beside),
    chooseRun: ({ run }) => {
      if (this.offered.has(run)) {
        this.show({ run, note: null });
      }
    },
    saveFilter: ({ filter, sort }) => this.save(filter, sort),
    deleteFilter: ({ name }) => this.keep(this.saved().filter((one) => one.name !== name)),
    classify: () => this.classify(),
    columns: async ({ columns }) => await this.around.keeper.update(COLUMNS_KEY, columns),
    saveCsv: () => this.saveCsv(),
    saveData: () => this.saveData(),
    dashboard: () => this.around.command('openDashboard', ...this.named()),
    taxonomy: () => this.around.command('inspectTaxonomy', ...this.named()),
    runsTable: () => this.around.command('openRunsTable', ...this.named()),
    startRun: () => this.around.command('startRun'),
  };

  constructor({ run, note }: EpisodesOpening, page: Page<EpisodesFromHost>, around: EpisodesSurroundings) {
    this.run = run;
    this.note = note;
    this.page = page;
    this.around = around;
  }

  /** The run that is shown, or null if there is none yet. */
  get shownRun(): string | null {
    return this.run;
  }

  /** The problem with the keyboard focus, or null. */
  get activeProblem(): number | null {
    return this.place.active;
  }

  /**
   * Shows another run, or the same run with another note. Another run resets the filters for role and
   * class, which could hide all of its problems.
   */
  show({ run, note }: EpisodesOpening): void {
    this.note = note;
    if (run !== null && run !== this.run) {
      this.run = run;
      this.filter = { ...this.filter, role: null, className: null };
      this.place = NO_PLACE;
    }
    if (this.isArranged && this.page.isListening) {
      this.open();
    }
  }

  dispose(): void {
    for (const rest of [this.resting, ...this.asking.values()]) {
      rest?.dispose();
    }
  }

  /** Updates the list after a change of the store, and keeps its place. Pauses between two updates. */
  storeChanged(): void {
    if (!this.isArranged) {
      return;
    }
    if (this.resting !== null) {
      this.again = true;
      return;
    }
    const started = performance.now();
    attemptForPage(this.page, () => {
      if (this.tellRun()) {
        this.list();
        this.lookForLosses();
      }
    });
    this.resting = this.around.later(
      () => {
        this.resting = null;
        if (!this.again) {
          return;
        }
        this.again = false;
        if (this.page.isListening) {
          this.storeChanged();
        }
      },
      REST * (performance.now() - started),
    );
  }

  /** Returns the run as the arguments of a command. */
  private named(): readonly string[] {
    return this.run === null ? [] : [this.run];
  }

  private arrange(filter: ProblemFilter, sort: ProblemSort, place: ProblemPlace): void {
    this.filter = filter;
    this.sort = sort;
    this.place = place;
  }

  private open(): void {
    attemptForPage(this.page, () => {
      this.tellSaved(this.saved());
      if (!this.tellRun()) {
        return;
      }
      this.list();
      this.tellClasses();
      this.lookForLosses();
    });
  }

  /** Asks for lost problems if replays were requested since the last answer. Pauses after each answer. */
  private async askLosses(): Promise<void> {
    const { run } = this;
    if (run === null || this.asking.has(run)) {
      return;
    }
    const replays = this.reader().countReplays(run, 'request');
    const before = this.losses.get(run) ?? NOT_SEARCHED;
    if (replays === before.replays) {
      return;
    }
    this.asking.set(run, null);
    const started = performance.now();
    const rows = await this.around.lostProblems(run);
    this.losses.set(run, { replays, found: new Map(rows.map((row) => [row.problem, row])) });
    this.asking.set(
      run,
      this.around.later(
        () => {
          this.asking.delete(run);
          this.lookForLosses();
        },
        REST * (performance.now() - started),
      ),
    );
    if (this.run !== run || before.found.size + rows.length === 0) {
      return;
    }
    if (before.found.size === 0 && isSameOrder(this.sort, CLEAREST_FIRST)) {
      this.sort = LOST_FIRST;
    }
    this.list();
  }

  /** Calls `askLosses` if a page is listening. Shows a failure in the panel. */
  private lookForLosses(): void {
    if (this.page.isListening) {
      this.askLosses().catch((error: unknown) => this.page.fail(error));
    }
  }

  /** Sends the run and the chooser's list to the page. @returns false if there is no run */
  private tellRun(): boolean {
    const reader = this.around.reader();
    const runs = reader?.runs(0, RUNS_SHOWN) ?? [];
    this.run ??= runs[0]?.id ?? null;
    if (reader === null || this.run === null) {
      this.page.post({ type: 'empty' });
      return false;
    }
    const run = runs.find(({ id }) => id === this.run) ?? reader.run(this.run);
    const listed = runs.some(({ id }) => id === run.id) ? runs : [run, ...runs];
    this.offered = new Set(listed.map(({ id }) => id));
    this.page.post({
      type: 'opened',
      run: this.shown(run, { path: reader.path, runConfig: reader.runConfig(run.id) }),
      runs: listed.map(({ id, title, createdAt }) => ({
        id,
        title: `${title}, ${new Date(createdAt).toLocaleString()}`,
      })),
      note: this.note,
    });
    return true;
  }

  private shown(run: RunRecord, { path, runConfig }: { path: string; runConfig: string }): EpisodesRun {
    const { id, title, method, seed, steps, plannedSteps } = run;
    return {
      id,
      title,
      description: `${method}, seed ${seed}, ${steps} of ${plannedSteps} steps`,
      status: this.around.statusOf(run, path),
      plannedSteps,
      judge: describeStoredJudge(runConfig),
    };
  }

  private list(): void {
    const { run, filter, sort, place } = this;
    if (run === null) {
      return;
    }
    const reader = this.reader();
    const started = performance.now();
    const classes = Object.fromEntries(
      [...(this.classes.get(run)?.classes ?? [])].map(([problem, { name }]) => [problem, name]),
    );
    const found = [...(this.losses.get(run)?.found ?? [])];
    const losses = Object.fromEntries(
      found.map(([problem, lost]) => [problem, { order: lossSortKey(lost), start: lost.start.value }]),
    );
    // A hidden column does not sort.
    const order = found.length === 0 && LOSS_COLUMNS.includes(sort.column) ? CLEAREST_FIRST : sort;
    this.ids = reader.problemIds({ run, filter, sort: order, classes, losses });
    this.revision++;
    const placeOf = (id: number | null): number | null => {
      const index = id === null ? -1 : this.ids.indexOf(id);
      return index < 0 ? null : index;
    };
    const { filled, ...facets } = reader.problemFacets(run);
    this.page.post({
      type: 'layout',
      layout: {
        revision: this.revision,
        rows: this.ids.length,
        facets: { ...facets, filled: [...filled, ...(found.length === 0 ? [] : LOSS_COLUMNS)] },
        filter,
        sort,
        active: placeOf(place.active),
        top: placeOf(place.top),
        of: place.active,
        milliseconds: Math.round(performance.now() - started),
      },
    });
  }

  /** Returns a window of rows, or null if the revision is not the present one. */
  private rows(revision: number, offset: number): ShownProblem[] | null {
    if (revision !== this.revision || this.run === null) {
      return null;
    }
    return this.problems(this.run, this.ids.slice(offset, offset + PROBLEM_WINDOW));
  }

  private problems(run: string, ids: readonly number[]): ShownProblem[] {
    const classes = this.classes.get(run)?.classes;
    const losses = this.losses.get(run)?.found;
    const reader = this.reader();
    const scale = reader.returnScale(run);
    return reader
      .problems(ids)
      .map((row): ShownProblem => ({
        ...row,
        scale,
        problemClass: classes?.get(row.problem) ?? null,
        lost: losses?.get(row.problem) ?? null,
      }));
  }

  /** Saves the listed problems as CSV, in their order. */
  private async saveCsv(): Promise<void> {
    if (this.run !== null) {
      await this.around.save(`episodes-${this.run}`, 'csv', formatProblemsCsv(this.problems(this.run, this.ids)));
    }
  }

  /** Saves the questions and answers of the listed problems as JSON Lines. */
  private async saveData(): Promise<void> {
    const reader = this.reader();
    const { text, left } = formatProblemsData(reader.problems(this.ids).map(({ problem }) => reader.problem(problem)));
    if (text === '') {
      throw new C3Error('input', 'None of the listed problems has an answer: they are scored by tests.');
    }
    const saved = await this.around.save('problems', 'jsonl', text);
    if (saved && left > 0) {
      this.around.say(
        `${left} of the listed ${left === 1 ? 'problems is' : 'problems are'} scored by tests and not in the file.`,
      );
    }
  }

  private tellSaved(filters: readonly SavedFilter[]): void {
    const kept = this.around.keeper.get(COLUMNS_KEY);
    this.page.post({ type: 'saved', filters, columns: isColumnChoice(kept) ? kept : NO_CHOICE });
  }

  private openTranscript(
    problem: number,
    round: { readonly phase: 'train' | 'evaluate'; readonly iteration: number } | null,
    beside: boolean,
  ): void {
    const opening = this.reader().problemOpening(problem, round);
    if (opening === null) {
      throw new C3Error('input', 'This problem has no stored message yet: wait for its first episode.');
    }
    this.around.openTranscript(opening.target, opening.message, beside);
  }

  private saved(): readonly SavedFilter[] {
    const kept = this.around.keeper.get(SAVED_KEY);
    return isSavedFilters(kept) ? kept : [];
  }

  private async save(filter: ProblemFilter, sort: ProblemSort): Promise<void> {
    const name = (await this.around.askForName())?.trim();
    if (name === undefined || name === '') {
      return;
    }
    await this.keep(
      [...this.saved().filter((saved) => saved.name !== name), { name, filter, sort }].sort((a, b) =>
        a.name < b.name ? -1 : 1,
      ),
    );
  }

  private async keep(filters: readonly SavedFilter[]): Promise<void> {
    await this.around.keeper.update(SAVED_KEY, filters);
    this.tellSaved(filters);
  }

  private async classify(): Promise<void> {
    const { run } = this;
    if (run === null || this.classes.get(run)?.state.state === 'working') {
      return;
    }
    const before = this.classes.get(run)?.classes ?? null;
    this.classes.set(run, {
      classes: before,
      state: { state: 'working', reason: null, names: listClassNames(before) },
    });
    this.tellClasses();
    try {
      const classes = await this.around.classesOf(run);
      this.classes.set(run, { classes, state: { state: 'known', reason: null, names: listClassNames(classes) } });
    } catch (error) {
      this.classes.set(run, {
        classes: before,
        state: { state: 'failed', reason: toErrorMessage(error), names: listClassNames(before) },
      });
    }
    if (this.run !== run) {
      return;
    }
    this.tellClasses();
    this.list();
  }

  private tellClasses(): void {
    const { run } = this;
    if (run !== null) {
      this.page.post({
        type: 'classes',
        classes: this.classes.get(run)?.state ?? { state: 'none', reason: null, names: [] },
      });
    }
  }

  private reader(): EpisodesReader {
    const reader = this.around.reader();
    if (reader === null) {
      throw new C3Error(
        'store',
        'The store of this run no longer exists: start a run, or choose another store in the settings.',
      );
    }
    return reader;
  }
}

/** Returns the classes in an answer of the engine. */
export function toProblemClasses({ problems = [] }: Pick<TaxonomyView, 'problems'>): ProblemClasses {
  return new Map(problems.map(({ problem, name, cases, of }) => [problem, { name, cases, of }]));
}

function listClassNames(classes: ProblemClasses | null): readonly string[] {
  return [...new Set([...(classes?.values() ?? [])].map(({ name }) => name))].sort();
}

// Problems as a data set for `task.train_file` and `task.evaluation_file`

/**
 * Formats one line of JSON for each problem with an answer. Problems that tests score are left out,
 * since their data has another form.
 * @returns the lines, and in `left` the number of omitted problems
 */
export function formatProblemsData(problems: readonly Problem[]): { readonly text: string; readonly left: number } {
  const answered = problems.filter(({ tests }) => tests === undefined);
  const lines = answered.map(({ uid, question, answer, level }) =>
    JSON.stringify({ uid, question, answer, ...(level !== null && { level }) }),
  );
  return { text: lines.map((line) => `${line}\n`).join(''), left: problems.length - answered.length };
}

// The problems of a run as comma-separated values

const CELLS: Readonly<Record<string, (row: ShownProblem) => CsvValue>> = {
  uid: ({ uid }) => uid,
  question: ({ question }) => question,
  source: ({ source }) => source,
  level: ({ level }) => level,
  greedyBefore: ({ greedyBefore }) => greedyBefore,
  sampledBefore: ({ sampledBefore }) => sampledBefore,
  greedyAfter: ({ greedyAfter }) => greedyAfter,
  sampledAfter: ({ sampledAfter }) => sampledAfter,
  meanReturn: ({ meanReturn }) => meanReturn,
  returns: ({ returns }) => returns,
  masked: ({ masked }) => masked,
  scoreByHand: ({ handScore }) => handScore,
  returnsByHand: ({ handReturns }) => handReturns,
  tags: ({ tags }) => tags.join(', '),
  role: ({ clearest }) => clearest?.role ?? null,
  credit: ({ clearest }) => clearest?.credit.value ?? null,
  creditLow: ({ clearest }) => clearest?.credit.low ?? null,
  creditHigh: ({ clearest }) => clearest?.credit.high ?? null,
  creditReturns: ({ clearest }) => clearest?.credit.n ?? null,
  verdict: ({ clearest }) => clearest?.credit.verdict ?? null,
  message: ({ clearest }) => clearest?.text ?? null,
  chance: ({ lost }) => lost?.start.value ?? null,
  chanceLow: ({ lost }) => lost?.start.low ?? null,
  chanceHigh: ({ lost }) => lost?.start.high ?? null,
  lostVerdict: ({ lost }) => lost?.verdict ?? null,
  lostBy: ({ lost }) => lost?.role ?? null,
  drop: ({ lost }) => lost?.drop ?? null,
  class: ({ problemClass }) => problemClass?.name ?? null,
  promptTokens: ({ tokens }) => tokens.prompt,
  reusedTokens: ({ tokens }) => tokens.reused,
  completionTokens: ({ tokens }) => tokens.completion,
  seconds: ({ seconds }) => seconds,
  evaluatorCalls: ({ evaluatorCalls }) => evaluatorCalls,
};

/** Formats one line for each problem, in the given order. A missing value is an empty cell. */
export function formatProblemsCsv(rows: readonly ShownProblem[]): string {
  return formatCsv(
    Object.keys(CELLS),
    rows.map((row) => Object.values(CELLS).map((cell) => cell(row))),
  );
}

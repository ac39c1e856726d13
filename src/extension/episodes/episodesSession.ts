/**
 * What the episodes panel asks and is sent: the order of a run's problems, pages of them, and where a transcript opens.
 */
import {
  CLEAREST_FIRST,
  LOST_FIRST,
  lossOrder,
  NO_PROBLEM_FILTER,
  type LostProblem,
  type LostProblemRow,
  type ProblemClass,
  type ProblemColumn,
  type ProblemFilter,
  type ProblemSort,
  type Problem,
} from '../../domain/problem.ts';
import { judgeWordsIn, type RunRecord, type ShownStatus } from '../../domain/run.ts';
import type { TaxonomyView } from '../../domain/taxonomy.ts';
import { C3Error, messageOf } from '../../shared/errors.ts';
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
import { csvOf, type CsvValue } from '../../shared/text/csv.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import type { ListKeeper } from '../common/listKeeper.ts';
import { attempt, type Page, type SessionOf, type AnswersOf, type EventsOf } from '../webview/panelSession.ts';

/** Where the workspace keeps saved filters. */
const SAVED_KEY = 'c3.episodeFilters';
/** Where it keeps which columns are shown. */
const COLUMNS_KEY = 'c3.episodeColumns';
/** Runs in the chooser, newest first. */
const RUNS_SHOWN = 200;
/**
 * After the store took so many milliseconds to sort, as many times as long passes before a growing run is sorted again.
 */
const REST = 9;

/** Columns that are there once something was searched. */
const LOSS_COLUMNS: readonly ProblemColumn[] = ['chance', 'lostBy'];

/** Classes of problems by uidSha. */
export type ProblemClasses = ReadonlyMap<string, ProblemClass>;

/** What was found of lost problems, by uidSha, when so many replays were requested. */
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
  /** Null while there is no store. @throws with the reason where it cannot be read */
  readonly reader: () => EpisodesReader | null;
  readonly keeper: ListKeeper;
  readonly statusOf: (run: RunRecord, storePath: string) => ShownStatus;
  /** The classes of a run's problems, worked out by the engine. */
  readonly classesOf: (run: string) => Promise<ProblemClasses>;
  /** What searches found of a run's lost problems, worked out by the engine; nothing where it cannot say. */
  readonly lostProblems: (run: string) => Promise<readonly LostProblemRow[]>;
  readonly askForName: () => Promise<string | undefined>;
  /** Saves a table where the user says. @returns whether it was saved */
  readonly save: (name: string, kind: 'csv' | 'jsonl', text: string) => Promise<boolean>;
  /** Says something that the user has not asked for in the panel. */
  readonly say: (words: string) => void;
  openTranscript(target: TranscriptTarget, message: number, beside: boolean): void;
  readonly command: (
    name: 'openDashboard' | 'inspectTaxonomy' | 'openRunsTable' | 'startRun',
    ...run: readonly string[]
  ) => Promise<void>;
  /** Does something later, unless that is disposed of before. */
  readonly later: (work: () => void, milliseconds: number) => { dispose(): void };
}

/** What the panel is opened with. */
export interface EpisodesOpening {
  /** Null: the run looked at last, or the newest. */
  readonly run: string | null;
  /** What is to be done there, in one sentence. */
  readonly note: string | null;
}

export class EpisodesSession implements SessionOf<typeof EPISODES_PANEL> {
  private readonly page: Page<EpisodesFromHost>;
  private readonly around: EpisodesSurroundings;
  /** Null: the newest run. */
  private run: string | null;
  private note: string | null;
  private filter: ProblemFilter = NO_PROBLEM_FILTER;
  private sort: ProblemSort = CLEAREST_FIRST;
  private place: ProblemPlace = NO_PLACE;
  private revision = 0;
  /** Whether a page has said what it shows. */
  private isArranged = false;
  private ids: readonly number[] = [];
  /** While a growing run rests; `again` when the store changed meanwhile. */
  private resting: { dispose(): void } | null = null;
  private again = false;
  /** Runs that were sent to the page: it may ask about no others. */
  private offered: ReadonlySet<string> = new Set();
  private readonly classes = new Map<string, { readonly classes: ProblemClasses | null; readonly state: ClassState }>();
  private readonly losses = new Map<string, Losses>();
  /** Runs that the engine is asked about, or what ends the rest after it. */
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
      // The engine knows the classes: it is asked once for a run.
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

  /** The run that is shown; null before there is one. */
  get shownRun(): string | null {
    return this.run;
  }

  /** The problem with the keyboard; null where none has it. */
  get activeProblem(): number | null {
    return this.place.active;
  }

  /**
   * Shows another run, or the same with another note; a filter for roles and classes of the run before would hide all.
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

  /** The store may hold more: what is listed follows, in its place. Sorting much is not done again at once. */
  storeChanged(): void {
    if (!this.isArranged) {
      return;
    }
    if (this.resting !== null) {
      this.again = true;
      return;
    }
    const started = performance.now();
    attempt(this.page, () => {
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

  /** The run, for a command that takes one. */
  private named(): readonly string[] {
    return this.run === null ? [] : [this.run];
  }

  private arrange(filter: ProblemFilter, sort: ProblemSort, place: ProblemPlace): void {
    this.filter = filter;
    this.sort = sort;
    this.place = place;
  }

  private open(): void {
    attempt(this.page, () => {
      this.tellSaved(this.saved());
      if (!this.tellRun()) {
        return;
      }
      this.list();
      this.tellClasses();
      this.lookForLosses();
    });
  }

  /** Asks what searches found, where replays were requested since; it rests as the list of a growing run does. */
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

  /** The same, while the page is there; what fails is shown in it. */
  private lookForLosses(): void {
    if (this.page.isListening) {
      this.askLosses().catch((error: unknown) => this.page.fail(error));
    }
  }

  /** @returns false where there is no run */
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
      judge: judgeWordsIn(runConfig),
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
      found.map(([problem, lost]) => [problem, { order: lossOrder(lost), start: lost.start.value }]),
    );
    // A hidden column gives no order.
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

  /** A window of rows; null for an older order: the page asks for the new one. */
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

  /** What is listed, in its order. */
  private async saveCsv(): Promise<void> {
    if (this.run !== null) {
      await this.around.save(`episodes-${this.run}`, 'csv', problemsCsv(this.problems(this.run, this.ids)));
    }
  }

  /** The questions and answers of what is listed. */
  private async saveData(): Promise<void> {
    const reader = this.reader();
    const { text, left } = problemsData(reader.problems(this.ids).map(({ problem }) => reader.problem(problem)));
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
    this.classes.set(run, { classes: before, state: { state: 'working', reason: null, names: namesOf(before) } });
    this.tellClasses();
    try {
      const classes = await this.around.classesOf(run);
      this.classes.set(run, { classes, state: { state: 'known', reason: null, names: namesOf(classes) } });
    } catch (error) {
      this.classes.set(run, {
        classes: before,
        state: { state: 'failed', reason: messageOf(error), names: namesOf(before) },
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

/** The classes in an answer of the engine. */
export function classesOf({ problems = [] }: Pick<TaxonomyView, 'problems'>): ProblemClasses {
  return new Map(problems.map(({ problem, name, cases, of }) => [problem, { name, cases, of }]));
}

function namesOf(classes: ProblemClasses | null): readonly string[] {
  return [...new Set([...(classes?.values() ?? [])].map(({ name }) => name))].sort();
}

// Problems as a data set that `task.train_file` and `task.evaluation_file` read.

/**
 * One line of JSON for each problem with an answer. Those that tests score are left out: their data has another form.
 * @returns the lines and how many were left out
 */
export function problemsData(problems: readonly Problem[]): { readonly text: string; readonly left: number } {
  const answered = problems.filter(({ tests }) => tests === undefined);
  const lines = answered.map(({ uid, question, answer, level }) =>
    JSON.stringify({ uid, question, answer, ...(level !== null && { level }) }),
  );
  return { text: lines.map((line) => `${line}\n`).join(''), left: problems.length - answered.length };
}

// The problems of a run as comma-separated values.

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

/** One line for each problem, in the order given; what was not measured is an empty cell. */
export function problemsCsv(rows: readonly ShownProblem[]): string {
  return csvOf(
    Object.keys(CELLS),
    rows.map((row) => Object.values(CELLS).map((cell) => cell(row))),
  );
}

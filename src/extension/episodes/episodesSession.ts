/**
 * What the episodes panel asks and is sent: the order of a run's problems, pages of them, and where a transcript opens.
 */
import {
  isSavedFilters,
  NO_PLACE,
  PROBLEM_WINDOW,
  type EPISODES_REQUESTS,
  type ClassState,
  type EpisodesFromHost,
  type EpisodesRun,
  type EpisodesToHost,
  type ProblemPlace,
  type SavedFilter,
  type ShownProblem,
} from '../../shared/protocols/episodesProtocol.ts';
import { isColumnChoice, NO_CHOICE } from '../../shared/protocols/columnChoice.ts';
import { C3Error, messageOf } from '../../shared/errors.ts';
import {
  CLEAREST_FIRST,
  NO_PROBLEM_FILTER,
  type ProblemClass,
  type ProblemFilter,
  type ProblemSort,
} from '../../domain/problem.ts';
import { judgeWordsIn, type RunRecord, type ShownStatus } from '../../domain/run.ts';
import type { TaxonomyView } from '../../domain/taxonomy.ts';
import { replyTo, type Answers } from '../../shared/protocols/requests.ts';
import type { TranscriptTarget } from '../../shared/protocols/transcriptProtocol.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import { problemsCsv } from './problemsCsv.ts';
import { problemsData } from './problemsData.ts';
import type { ListKeeper } from '../model/modelFolders.ts';

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

/** Classes of problems by uidSha. */
export type ProblemClasses = ReadonlyMap<string, ProblemClass>;

export type EpisodesReader = Pick<
  StoreReader,
  | 'path'
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
  readonly askForName: () => Promise<string | undefined>;
  /** Saves a table where the user says. @returns whether it was saved */
  readonly save: (name: string, kind: 'csv' | 'jsonl', text: string) => Promise<boolean>;
  /** Says something that the user has not asked for in the panel. */
  readonly say: (words: string) => void;
  post(message: EpisodesFromHost): void;
  openTranscript(target: TranscriptTarget, message: number, beside: boolean): void;
  command(name: 'dashboard' | 'taxonomy' | 'runsTable' | 'startRun', run: string | null): void;
  failed(message: string): void;
  later(work: () => void, milliseconds: number): void;
}

export class EpisodesSession {
  private readonly around: EpisodesSurroundings;
  /** Null: the newest run. */
  private run: string | null;
  private note: string | null;
  private filter: ProblemFilter = NO_PROBLEM_FILTER;
  private sort: ProblemSort = CLEAREST_FIRST;
  private place: ProblemPlace = NO_PLACE;
  private revision = 0;
  private ids: readonly number[] = [];
  private listening = false;
  /** While a growing run rests; `again` when the store changed meanwhile. */
  private resting = false;
  private again = false;
  /** Runs that were sent to the page: it may ask about no others. */
  private offered: ReadonlySet<string> = new Set();
  private readonly classes = new Map<string, { readonly classes: ProblemClasses | null; readonly state: ClassState }>();
  private readonly answers: Answers<typeof EPISODES_REQUESTS> = {
    rows: ({ revision, offset }) => this.rows(revision, offset),
  };

  constructor(run: string | null, note: string | null, around: EpisodesSurroundings) {
    this.run = run;
    this.note = note;
    this.around = around;
  }

  /** The run that is shown; null before there is one. */
  get shownRun(): string | null {
    return this.run;
  }

  /**
   * Shows another run, or the same with another note; a filter for roles and classes of the run before would hide all.
   */
  show(run: string | null, note: string | null): void {
    this.note = note;
    if (run !== null && run !== this.run) {
      this.run = run;
      this.filter = { ...this.filter, role: null, className: null };
      this.place = NO_PLACE;
    }
    if (this.listening) {
      this.open();
    }
  }

  /** Answers a message of the page; never rejects. */
  async receive(message: EpisodesToHost): Promise<void> {
    await this.guarded(async () => {
      switch (message.type) {
        case 'ready':
          this.listening = true;
          ({ filter: this.filter, sort: this.sort, place: this.place } = message);
          this.open();
          break;
        case 'list':
          ({ filter: this.filter, sort: this.sort, place: this.place } = message);
          this.list();
          // Whoever asks for classes means those of the engine.
          if (this.sort.column === 'class' && this.run !== null && !this.classes.has(this.run)) {
            await this.classify();
          }
          break;
        case 'place':
          this.place = message.place;
          break;
        case 'request':
          this.around.post(await replyTo(this.answers, message));
          break;
        case 'open':
          this.openTranscript(message.problem, message.round, message.beside);
          break;
        case 'chooseRun':
          if (this.offered.has(message.run)) {
            this.show(message.run, null);
          }
          break;
        case 'saveFilter':
          await this.save(message.filter, message.sort);
          break;
        case 'deleteFilter':
          await this.keep(this.saved().filter(({ name }) => name !== message.name));
          break;
        case 'classify':
          await this.classify();
          break;
        case 'columns':
          await this.around.keeper.update(COLUMNS_KEY, message.columns);
          break;
        case 'saveCsv':
          await this.saveCsv();
          break;
        case 'saveData':
          await this.saveData();
          break;
        case 'dashboard':
        case 'taxonomy':
        case 'runsTable':
        case 'startRun':
          this.around.command(message.type, this.run);
          break;
      }
    });
  }

  /** The page was thrown away; the next one says that it is ready. */
  hidden(): void {
    this.listening = false;
  }

  /** The store may hold more: what is listed follows, in its place. Sorting much is not done again at once. */
  storeChanged(): void {
    if (!this.listening) {
      return;
    }
    if (this.resting) {
      this.again = true;
      return;
    }
    this.resting = true;
    const started = performance.now();
    void this.guarded(() => {
      if (this.tellRun()) {
        this.list();
      }
    });
    this.around.later(
      () => {
        this.resting = false;
        if (!this.again) {
          return;
        }
        this.again = false;
        this.storeChanged();
      },
      REST * (performance.now() - started),
    );
  }

  private open(): void {
    void this.guarded(() => {
      this.tellSaved(this.saved());
      if (!this.tellRun()) {
        return;
      }
      this.list();
      this.tellClasses();
    });
  }

  /** @returns false where there is no run */
  private tellRun(): boolean {
    const reader = this.around.reader();
    const runs = reader?.runs(0, RUNS_SHOWN) ?? [];
    this.run ??= runs[0]?.id ?? null;
    if (reader === null || this.run === null) {
      this.around.post({ type: 'empty' });
      return false;
    }
    const run = runs.find(({ id }) => id === this.run) ?? reader.run(this.run);
    const listed = runs.some(({ id }) => id === run.id) ? runs : [run, ...runs];
    this.offered = new Set(listed.map(({ id }) => id));
    this.around.post({
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
      description: `${method}, seed ${String(seed)}, ${String(steps)} of ${String(plannedSteps)} steps`,
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
    this.ids = reader.problemIds({ run, filter, sort, classes });
    this.revision++;
    const placeOf = (id: number | null): number | null => {
      const index = id === null ? -1 : this.ids.indexOf(id);
      return index < 0 ? null : index;
    };
    const facets = reader.problemFacets(run);
    this.around.post({
      type: 'layout',
      layout: {
        revision: this.revision,
        rows: this.ids.length,
        facets,
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
    const reader = this.reader();
    const scale = reader.returnScale(run);
    return reader
      .problems(ids)
      .map((row): ShownProblem => ({ ...row, scale, problemClass: classes?.get(row.problem) ?? null }));
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
        `${String(left)} of the listed ${left === 1 ? 'problems is' : 'problems are'} scored by tests and not in the file.`,
      );
    }
  }

  private tellSaved(filters: readonly SavedFilter[]): void {
    const kept = this.around.keeper.get(COLUMNS_KEY);
    this.around.post({ type: 'saved', filters, columns: isColumnChoice(kept) ? kept : NO_CHOICE });
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
      this.around.post({
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

  private async guarded(work: () => void | Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const message = messageOf(error);
      this.around.failed(message);
      this.around.post({ type: 'failed', message });
    }
  }
}

/** The classes in an answer of the engine. */
export function classesOf({ problems = [] }: Pick<TaxonomyView, 'problems'>): ProblemClasses {
  return new Map(problems.map(({ problem, name, cases, of }) => [problem, { name, cases, of }]));
}

function namesOf(classes: ProblemClasses | null): readonly string[] {
  return [...new Set([...(classes?.values() ?? [])].map(({ name }) => name))].sort();
}

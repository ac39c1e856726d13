/** Messages between the extension host and the episodes panel. */

import {
  OUTCOME_FILTERS,
  PROBLEM_COLUMNS,
  SPLIT_FILTERS,
  VERDICT_FILTERS,
  type LostProblem,
  type ProblemClass,
  type ProblemFacets,
  type ProblemFilter,
  type ProblemRow,
  type ProblemSort,
} from '../../domain/problem.ts';
import type { ShownStatus } from '../../domain/run.ts';
import type { ReturnScale } from '../credit/returns.ts';
import { holdingKeys, integer, list, literal, nullable, object, text, type Guarded } from '../guard.ts';
import { isColumnChoice, type ColumnChoice } from './columnChoice.ts';
import type { Events, Panel, ToHost } from './panel.ts';
import type { ReplyMessage, Requests } from './requests.ts';

/** Rows in one answer. */
export const PROBLEM_WINDOW = 60;
/** Longest search, in UTF-16 units. */
export const SEARCH_LIMIT = 500;
/** Longest name of a saved filter. */
export const FILTER_NAME_LIMIT = 80;

export const isProblemFilter = object({
  outcome: literal(...OUTCOME_FILTERS),
  verdict: literal(...VERDICT_FILTERS),
  split: literal(...SPLIT_FILTERS),
  role: nullable(text(200)),
  className: nullable(text(100)),
  search: text(SEARCH_LIMIT),
});
export const isProblemSort = object({ column: literal(...PROBLEM_COLUMNS), descending: literal(true, false) });

/**
 * A place in the list: the row with the keyboard focus, the first visible row, and the pixels of that
 * row that are scrolled away.
 */
const isPlace = object({ active: nullable(integer()), top: nullable(integer()), offset: integer(0, 1000) });
export type ProblemPlace = Guarded<typeof isPlace>;
export const NO_PLACE: ProblemPlace = { active: null, top: null, offset: 0 };

/** The state that the panel keeps across a reload. */
export const isEpisodesState = object({
  version: literal(1),
  run: text(200),
  filter: isProblemFilter,
  sort: isProblemSort,
  place: isPlace,
  details: literal(true, false),
});

/** A named filter together with its sort order. */
export const isSavedFilter = object({ name: text(FILTER_NAME_LIMIT), filter: isProblemFilter, sort: isProblemSort });
export type SavedFilter = Guarded<typeof isSavedFilter>;

/** A problem with its class, as a row shows it. */
export interface ShownProblem extends ProblemRow {
  /** The scale of its run's returns; null if its evaluator is unknown. */
  readonly scale: ReturnScale | null;
  /** Null if no class is known. */
  readonly problemClass: ProblemClass | null;
  /** Null if its lost episode was not searched. */
  readonly lost: LostProblem | null;
}

/** A new order of the problems, or a new set that passes the filter. */
export interface ProblemLayout {
  readonly revision: number;
  /** Rows that pass the filter. */
  readonly rows: number;
  readonly facets: ProblemFacets;
  readonly filter: ProblemFilter;
  readonly sort: ProblemSort;
  /** The current indices of the rows of the panel's place; null if they no longer pass the filter. */
  readonly active: number | null;
  readonly top: number | null;
  /** The problem in row `active`; null if the panel had named none when this layout was made. */
  readonly of: number | null;
  /** Milliseconds of the store's query. */
  readonly milliseconds: number;
}

/** The state of the classes of the run's problems. */
export interface ClassState {
  readonly state: 'none' | 'working' | 'known' | 'failed';
  /** The reason why there are none. */
  readonly reason: string | null;
  /** Class names that some problem has. */
  readonly names: readonly string[];
}

export interface EpisodesRun {
  readonly id: string;
  readonly title: string;
  /** Method, seed and steps, which distinguish runs of one title. */
  readonly description: string;
  readonly status: ShownStatus;
  readonly plannedSteps: number;
  /** The sentence on the run's model judge, to show beside its credits; null if there is none. */
  readonly judge: string | null;
}

export type EpisodesFromHost =
  | {
      readonly type: 'opened';
      readonly run: EpisodesRun;
      readonly runs: readonly { readonly id: string; readonly title: string }[];
      readonly note: string | null;
    }
  | { readonly type: 'saved'; readonly filters: readonly SavedFilter[]; readonly columns: ColumnChoice }
  | { readonly type: 'layout'; readonly layout: ProblemLayout }
  | ReplyMessage
  | { readonly type: 'classes'; readonly classes: ClassState }
  /** There is no run in the store. */
  | { readonly type: 'empty' }
  | { readonly type: 'failed'; readonly message: string };

/** The requests of the page. */
export const EPISODES_REQUESTS = {
  /** A window of rows; null if another order is shown now. */
  rows: {
    asked: object({ revision: integer(), offset: integer() }),
    answer: nullable(
      list(holdingKeys<ShownProblem>({ id: true, problem: true, problemClass: true, lost: true }), PROBLEM_WINDOW),
    ),
  },
} as const satisfies Requests;

const isRound = object({ phase: literal('train', 'evaluate'), iteration: integer() });

/** The events that the page sends. */
const EPISODES_EVENTS = {
  ready: { filter: isProblemFilter, sort: isProblemSort, place: isPlace },
  list: { filter: isProblemFilter, sort: isProblemSort, place: isPlace },
  place: { place: isPlace },
  open: { problem: integer(), round: nullable(isRound), beside: literal(true, false) },
  chooseRun: { run: text(200) },
  saveFilter: { filter: isProblemFilter, sort: isProblemSort },
  deleteFilter: { name: text(FILTER_NAME_LIMIT) },
  classify: {},
  columns: { columns: isColumnChoice },
  saveCsv: {},
  saveData: {},
  dashboard: {},
  taxonomy: {},
  runsTable: {},
  startRun: {},
} as const satisfies Events;

/** The filters that are saved for a workspace. */
export const isSavedFilters = list(isSavedFilter, 100);

export const EPISODES_PANEL = {
  view: 'c3.episodes',
  title: 'Episodes',
  bundle: 'episodes',
  icon: 'tab',
  events: EPISODES_EVENTS,
  requests: EPISODES_REQUESTS,
} as const satisfies Panel;

export type EpisodesToHost = ToHost<typeof EPISODES_PANEL>;

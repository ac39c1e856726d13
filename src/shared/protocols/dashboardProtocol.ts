/** Messages between the extension host and the run dashboard. */
import type { RunBlame } from '../../domain/answer.ts';
import type { Interval } from '../../domain/credit.ts';
import type { StoredEvaluation } from '../../domain/evaluation.ts';
import type { Ledger, RunRecord, ShownStatus } from '../../domain/run.ts';
import type { RoleModels, RemovalOutcomes, StepRow, RegionFacts } from '../../domain/stepRows.ts';
import { integer, list, literal, nullable, object, text } from '../guard.ts';
import type { RunStage } from './jobs.ts';
import type { Events, Panel, ToHost } from './panel.ts';

/** Most runs that are compared with the shown one: as many as lines can be distinguished without colour. */
export const COMPARED_MOST = 5;
/** Most steps of a run that are shown; the first ones of a longer run. */
export const STEPS_MOST = 20_000;
/** Longest table that is copied, in UTF-16 units. */
export const COPY_MOST = 32_000_000;

/** What charts can run over. */
export const CHART_AXES = ['step', 'tokens', 'calls', 'time'] as const;
export type ChartAxis = (typeof CHART_AXES)[number];

const run = text(200);
const runs = list(run, COMPARED_MOST);

/** What the panel keeps across a reload. */
export const isDashboardState = object({
  version: literal(5),
  run: nullable(run),
  compared: runs,
  /** The charts whose tables are open. */
  tables: list(text(200), 100),
  /** Over how many steps drawn lines are averaged. */
  smoothing: literal('automatic', 'none', '10', '50'),
  axis: literal(...CHART_AXES),
  scale: literal('linear', 'x', 'y', 'xy'),
  /** Steps of each run that a paused view shows, the chosen run first; null while it is in progress. */
  paused: nullable(list(integer(), COMPARED_MOST + 1)),
  /** Pixels scrolled down. */
  scroll: integer(),
});

export interface RunTask {
  /** The same for runs that are evaluated alike. */
  readonly key: string;
  readonly label: string;
}

/** One entry of the run choosers. */
export interface RunChoice {
  readonly id: string;
  readonly title: string;
  /** The time of day, as the user writes it. */
  readonly started: string;
  /** What it is evaluated on: only runs of one task can be compared. */
  readonly task: RunTask;
}

/** Of the runs named, those of the same task as another one. */
export function ofSameTask(
  named: readonly string[],
  run: string,
  taskOf: (run: string) => RunTask | undefined,
): readonly string[] {
  const task = taskOf(run)?.key;
  return named.filter((one) => one !== run && taskOf(one)?.key === task);
}

/** Progress of a run that this window started. */
export interface LiveProgress {
  readonly stage: RunStage;
  readonly done: number;
  readonly total: number;
  /** Null until it is known. */
  readonly remainingSeconds: number | null;
}

/** What a run reached, and what training it took: a point of the Pareto chart. */
export interface RunOutcome {
  readonly run: string;
  readonly title: string;
  readonly method: string;
  readonly seed: number;
  /** What it was evaluated on, as far as its configuration says: only runs of one task can be compared. */
  readonly task: RunTask;
  /** Prompt and completion tokens, evaluator calls and seconds of training alone. */
  readonly tokens: number;
  readonly calls: number;
  readonly seconds: number;
  /** Greedy, on held-out problems, at the end. */
  readonly accuracy: Interval;
}

/** What is known of what loses the episodes of a run. */
export interface ShownLosses {
  /** Null until it was asked for. */
  readonly found: RunBlame | null;
  /** Whether it is being looked for. */
  readonly isAsked: boolean;
}

/**
 * Everything that the dashboard shows but the steps; always whole, so that a hidden panel can skip any number of them.
 */
export interface DashboardSnapshot {
  readonly runs: readonly RunChoice[];
  readonly run: RunRecord;
  readonly status: ShownStatus;
  /** The runs that are laid over it, in the order in which they were chosen. */
  readonly compared: readonly RunRecord[];
  /** The complete evaluations of each run, the shown one first, then those compared with it. */
  readonly evaluations: readonly (readonly StoredEvaluation[])[];
  /** Of each of these runs, in the same order. */
  readonly regions: readonly RegionFacts[];
  readonly models: readonly RoleModels[];
  /** What loses the episodes of the shown run; null where it cannot be asked here. */
  readonly losses: ShownLosses | null;
  /** Cumulative cost at the last finished step; null before the first. */
  readonly ledger: Ledger | null;
  /** What is said of the model judge that scored the shown run; null where none did. */
  readonly judge: string | null;
  /** Of the newest runs of the store. */
  readonly outcomes: readonly RunOutcome[];
  /** Of the shown run, where it credits by removal and has solo rollouts. */
  readonly removal: RemovalOutcomes | null;
  readonly live: LiveProgress | null;
}

/**
 * Finished steps of one run in order, from the `from`-th on. 0 begins anew; what does not go on where the page's rows
 * end is out of date.
 */
export interface StepWindow {
  readonly run: string;
  readonly from: number;
  readonly rows: readonly StepRow[];
}

export type DashboardFromHost =
  | { readonly type: 'snapshot'; readonly snapshot: DashboardSnapshot }
  | { readonly type: 'steps'; readonly window: StepWindow }
  | { readonly type: 'empty' }
  | { readonly type: 'failed'; readonly message: string };

/** What the page sends. */
const DASHBOARD_EVENTS = {
  ready: {},
  choose: { run },
  compare: { runs },
  /** Shows a step, or an evaluation, in the side bar. */
  openRound: { run, phase: literal('train', 'evaluate'), iteration: integer(1) },
  copy: { text: text(COPY_MOST) },
  startRun: {},
  resumeRun: { run },
  cancelRun: {},
  taxonomy: { run },
  findLosses: { run },
  tryChange: { run, role: text(200) },
  openMessage: { message: integer(1) },
} as const satisfies Events;

export const DASHBOARD_PANEL = {
  view: 'c3.dashboard',
  title: 'Run dashboard',
  bundle: 'dashboard',
  icon: 'tab',
  events: DASHBOARD_EVENTS,
  requests: {},
} as const satisfies Panel;

export type DashboardToHost = ToHost<typeof DASHBOARD_PANEL>;

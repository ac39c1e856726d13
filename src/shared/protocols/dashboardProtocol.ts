/** Messages between the extension host and the run dashboard. */

import type { RunBlame } from '../../domain/answer.ts';
import type { Interval } from '../../domain/credit.ts';
import type { StoredEvaluation } from '../../domain/evaluation.ts';
import type { Ledger, RunRecord, ShownStatus } from '../../domain/run.ts';
import type { RoleModels, RemovalOutcomes, StepRow, RegionFacts } from '../../domain/stepRows.ts';
import { integer, list, literal, nullable, object, text } from '../guard.ts';
import type { RunStage } from './jobs.ts';
import type { Events, Panel, ToHost } from './panel.ts';

/** Most compared runs: as many as there are lines that can be distinguished without color. */
export const COMPARED_MOST = 5;
/** Most steps of a run that are shown, counted from its first. */
export const STEPS_MOST = 20_000;
/** Longest table that is copied, in UTF-16 units. */
export const COPY_MOST = 32_000_000;

/** Horizontal axes of charts. */
export const CHART_AXES = ['step', 'tokens', 'calls', 'time'] as const;
export type ChartAxis = (typeof CHART_AXES)[number];

const run = text(200);
const runs = list(run, COMPARED_MOST);

/** The state that the panel keeps across a reload. */
export const isDashboardState = object({
  version: literal(5),
  run: nullable(run),
  compared: runs,
  /** The charts whose tables are open. */
  tables: list(text(200), 100),
  /** Number of steps over which drawn lines are averaged. */
  smoothing: literal('automatic', 'none', '10', '50'),
  axis: literal(...CHART_AXES),
  scale: literal('linear', 'x', 'y', 'xy'),
  /** Steps of each run that a paused view shows, the chosen run first; null while it is in progress. */
  paused: nullable(list(integer(), COMPARED_MOST + 1)),
  /** Pixels scrolled down. */
  scroll: integer(),
});

export interface RunTask {
  /** Equal for runs that are evaluated on the same problems. */
  readonly key: string;
  readonly label: string;
}

/** One entry of the run choosers. */
export interface RunChoice {
  readonly id: string;
  readonly title: string;
  /** The local time of day. */
  readonly started: string;
  /** The task that it is evaluated on: only runs of one task can be compared. */
  readonly task: RunTask;
}

/** Returns the named runs that have the same task as another one. */
export function filterSameTask(
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

/** The accuracy of a run, and the cost of its training: a point of the Pareto chart. */
export interface RunOutcome {
  readonly run: string;
  readonly title: string;
  readonly method: string;
  readonly seed: number;
  /** The task that it was evaluated on by its configuration: only runs of one task can be compared. */
  readonly task: RunTask;
  /** Prompt and completion tokens, evaluator calls and seconds of training alone. */
  readonly tokens: number;
  readonly calls: number;
  readonly seconds: number;
  /** Greedy, on held-out problems, at the end. */
  readonly accuracy: Interval;
}

/** The losses of a run's episodes, as far as they are known. */
export interface ShownLosses {
  /** Null until they are requested. */
  readonly found: RunBlame | null;
  /** True while they are searched for. */
  readonly isAsked: boolean;
}

/** Everything shown except the steps; always complete, so that a hidden panel can skip snapshots. */
export interface DashboardSnapshot {
  readonly runs: readonly RunChoice[];
  readonly run: RunRecord;
  readonly status: ShownStatus;
  /** The runs that are drawn over it, in the order in which they were chosen. */
  readonly compared: readonly RunRecord[];
  /** The complete evaluations of each run, first of the shown one, then of those compared with it. */
  readonly evaluations: readonly (readonly StoredEvaluation[])[];
  /** For each of these runs, in the same order. */
  readonly regions: readonly RegionFacts[];
  readonly models: readonly RoleModels[];
  /** The losses of the shown run's episodes; null if they cannot be searched for here. */
  readonly losses: ShownLosses | null;
  /** Cumulative cost at the last finished step, or null before the first. */
  readonly ledger: Ledger | null;
  /** The sentence on the model judge that scored the shown run, or null if there is none. */
  readonly judge: string | null;
  /** Outcomes of the newest runs of the store. */
  readonly outcomes: readonly RunOutcome[];
  /** Outcomes of the shown run, if it credits by removal and has solo rollouts. */
  readonly removal: RemovalOutcomes | null;
  readonly live: LiveProgress | null;
}

/**
 * Finished steps of one run in order, from index `from`. 0 replaces all rows; a window that does not
 * start at the end of the page's rows is out of date.
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

/** The events that the page sends. */
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

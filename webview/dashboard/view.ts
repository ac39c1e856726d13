/** The view of the dashboard: a snapshot with the steps of its runs. Views are never changed. */

import type { StoredEvaluation } from '../../src/domain/evaluation.ts';
import type { RunRecord } from '../../src/domain/run.ts';
import type { RoleModels, RegionFacts, StepRow } from '../../src/domain/stepRows.ts';
import type { ChartAxis, DashboardSnapshot, StepWindow } from '../../src/shared/protocols/dashboardProtocol.ts';

/** A run in the charts. The first one is the chosen run; the others are laid over it. */
export interface ShownRun {
  /** Label of its lines: A, B, C ... */
  readonly tag: string;
  readonly record: RunRecord;
  readonly rows: readonly StepRow[];
  /** Total cost of training at the end of each row. */
  readonly totals: readonly Totals[];
  readonly evaluations: readonly StoredEvaluation[];
  readonly region: RegionFacts;
  readonly models: RoleModels;
}

export type Totals = Readonly<Record<Exclude<ChartAxis, 'step'>, number>>;

export interface View {
  readonly snapshot: DashboardSnapshot;
  readonly runs: readonly ShownRun[];
}

/** The steps that the page has, by run. */
export type StepsByRun = ReadonlyMap<string, readonly StepRow[]>;

const TAGS = ['A', 'B', 'C', 'D', 'E', 'F'];

export function buildDashboardView(snapshot: DashboardSnapshot, steps: StepsByRun): View {
  const runs = [snapshot.run, ...snapshot.compared].map((record, index): ShownRun => {
    const rows = steps.get(record.id) ?? [];
    return {
      tag: TAGS[index] ?? '?',
      record,
      rows,
      totals: computeStepTotals(rows),
      evaluations: snapshot.evaluations[index] ?? [],
      region: snapshot.regions[index] ?? { delta: null, replacement: null },
      models: snapshot.models[index] ?? { own: '', roles: {} },
    };
  });
  return { snapshot, runs };
}

/** Returns the total cost of training at the end of each step, without evaluations. */
export function computeStepTotals(rows: readonly StepRow[]): readonly Totals[] {
  let total: Totals = { tokens: 0, calls: 0, time: 0 };
  return rows.map(({ cost, metrics }) => {
    total = {
      tokens: total.tokens + cost.tokens.prompt + cost.tokens.completion,
      calls: total.calls + cost.evaluatorCalls,
      time: total.time + metrics.generateSeconds + metrics.trainSeconds,
    };
    return total;
  });
}

/**
 * Returns the position of the end of a step on an axis; step 0 is the beginning. Returns null while
 * the cost of the step is not known.
 */
export function placeOnAxis(
  { rows, totals }: Pick<ShownRun, 'rows' | 'totals'>,
  step: number,
  axis: ChartAxis,
): number | null {
  if (axis === 'step' || step === 0) {
    return step;
  }
  return rows[step - 1]?.iteration === step ? (totals[step - 1]?.[axis] ?? null) : null;
}

/** Returns the number of steps that a view shows of each run. */
export function countStepsByRun({ runs }: View): readonly number[] {
  return runs.map(({ rows }) => rows.length);
}

/** Returns the view as it was when it had these numbers of steps. */
export function cutView(view: View, counts: readonly number[]): View {
  return {
    ...view,
    runs: view.runs.map((run, index) => ({
      ...run,
      rows: run.rows.slice(0, counts[index]),
      totals: run.totals.slice(0, counts[index]),
    })),
  };
}

/** Returns the steps with a window added that begins at 0 or at their end, else the same steps. */
export function addStepWindow(steps: StepsByRun, { run, from, rows }: StepWindow): StepsByRun {
  const known = steps.get(run) ?? [];
  if (from !== 0 && from !== known.length) {
    return steps;
  }
  return new Map(steps).set(run, from === 0 ? rows : [...known, ...rows]);
}

/** Returns the steps of these runs only. Others do not get updates any more. */
export function keepRuns(steps: StepsByRun, runs: readonly string[]): StepsByRun {
  return new Map([...steps].filter(([run]) => runs.includes(run)));
}

/** Returns the number of steps that the newer view has and the older one does not. */
export function countNewSteps(older: View, newer: View): number {
  const known = new Map(older.runs.map(({ record, rows }) => [record.id, rows.length]));
  return newer.runs.reduce(
    (sum, { record, rows }) => sum + Math.max(0, rows.length - (known.get(record.id) ?? rows.length)),
    0,
  );
}

/** Removes invisible characters from a title and cuts it. Copies of tables keep the full title. */
export function toPlainTitle(title: string): string {
  return title.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '').slice(0, 80);
}

/**
 * What the dashboard shows at one moment: the snapshot with the steps of its runs. Nothing here is changed once it is
 * made.
 */
import type { StoredEvaluation } from '../../src/domain/evaluation.ts';
import type { RunRecord } from '../../src/domain/run.ts';
import type { RoleModels, RegionFacts, StepRow } from '../../src/domain/stepRows.ts';
import type { ChartAxis, DashboardSnapshot, StepWindow } from '../../src/shared/protocols/dashboardProtocol.ts';

/** A run in the charts. The first is the one that was chosen. */
export interface ShownRun {
  /** A, B, C ...: what the lines are labelled with. */
  readonly tag: string;
  readonly record: RunRecord;
  readonly rows: readonly StepRow[];
  /** What training has cost at the end of each row. */
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

/** The steps of each run that the page has. */
export type StepsByRun = ReadonlyMap<string, readonly StepRow[]>;

const TAGS = ['A', 'B', 'C', 'D', 'E', 'F'];

export function viewOf(snapshot: DashboardSnapshot, steps: StepsByRun): View {
  const runs = [snapshot.run, ...snapshot.compared].map((record, index): ShownRun => {
    const rows = steps.get(record.id) ?? [];
    return {
      tag: TAGS[index] ?? '?',
      record,
      rows,
      totals: totalsOf(rows),
      evaluations: snapshot.evaluations[index] ?? [],
      region: snapshot.regions[index] ?? { delta: null, replacement: null },
      models: snapshot.models[index] ?? { own: '', roles: {} },
    };
  });
  return { snapshot, runs };
}

/** What training has cost at the end of each step: its own sampling and updates, no evaluation. */
export function totalsOf(rows: readonly StepRow[]): readonly Totals[] {
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

/** Where the end of a step is on an axis, step 0 being the beginning; null while what it cost is not known here. */
export function along(
  { rows, totals }: Pick<ShownRun, 'rows' | 'totals'>,
  step: number,
  axis: ChartAxis,
): number | null {
  if (axis === 'step' || step === 0) {
    return step;
  }
  return rows[step - 1]?.iteration === step ? (totals[step - 1]?.[axis] ?? null) : null;
}

/** How many steps of each run a view shows. */
export function stepCounts({ runs }: View): readonly number[] {
  return runs.map(({ rows }) => rows.length);
}

/** The view as it was when it showed so many steps of each run. */
export function asItStood(view: View, counts: readonly number[]): View {
  return {
    ...view,
    runs: view.runs.map((run, index) => ({
      ...run,
      rows: run.rows.slice(0, counts[index]),
      totals: run.totals.slice(0, counts[index]),
    })),
  };
}

/** The steps with a window added; as they were where it does not go on from their end. */
export function withWindow(steps: StepsByRun, { run, from, rows }: StepWindow): StepsByRun {
  const known = steps.get(run) ?? [];
  if (from !== 0 && from !== known.length) {
    return steps;
  }
  return new Map(steps).set(run, from === 0 ? rows : [...known, ...rows]);
}

/** The steps of these runs only: those of others are not sent on. */
export function onlyRuns(steps: StepsByRun, runs: readonly string[]): StepsByRun {
  return new Map([...steps].filter(([run]) => runs.includes(run)));
}

/** How many finished steps the newer view has that the older one does not show. */
export function stepsBetween(older: View, newer: View): number {
  const known = new Map(older.runs.map(({ record, rows }) => [record.id, rows.length]));
  return newer.runs.reduce(
    (sum, { record, rows }) => sum + Math.max(0, rows.length - (known.get(record.id) ?? rows.length)),
    0,
  );
}

/** A title without what could turn its text around or hide in it. Copies of tables keep it as it is. */
export function plainTitle(title: string): string {
  return title.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '').slice(0, 80);
}

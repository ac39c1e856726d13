/**
 * Methods compared on tasks over seeds: means, deviations, intervals, paired tests, and the results
 * for the claims of the C3 paper. Pure: runs in, tables out.
 */

import { studentInterval } from '../../credit/interval.ts';
import type { Interval } from '../../domain/credit.ts';
import { summarizeSeeds, type SeedSummary } from '../statistics/seeds.ts';
import { checkClaims, type Claim } from './claims.ts';
import {
  BUDGETS,
  compareMethods,
  readMeasure,
  MEASURES,
  type Budget,
  type CurvePoint,
  type MeasureName,
  type MethodComparison,
  type MethodRun,
} from './methodComparison.ts';

export type { Claim } from './claims.ts';
export type { Budget, MeasureName, MethodComparison } from './methodComparison.ts';

/** A method on a task at one budget. */
export interface MethodRow {
  readonly task: string;
  readonly budget: Budget;
  readonly method: string;
  readonly seeds: readonly number[];
  /** Null if no seed has the measure. */
  readonly measures: Readonly<Record<MeasureName, SeedSummary | null>>;
  readonly decisions: Readonly<Record<string, SeedSummary>>;
  /**
   * For each step: the mean return of episodes over seeds with its interval, and the mean calls and
   * tokens spent up to it.
   */
  readonly curve: readonly {
    readonly step: number;
    readonly evaluatorCalls: number;
    readonly tokens: number;
    readonly meanReturn: Interval;
  }[];
}

export interface MethodTable {
  readonly rows: readonly MethodRow[];
  readonly comparisons: readonly MethodComparison[];
  readonly claims: readonly Claim[];
}

const COMPARED: readonly MeasureName[] = ['pass1', 'greedy', 'pass10', 'fidelity', 'variance', 'influence', 'tokens'];

/** Builds the table of all runs. @param methods in the order of rows; others come after them */
export function buildMethodTable(runs: readonly MethodRun[], methods: readonly string[]): MethodTable {
  const order = (method: string): number => (methods.includes(method) ? methods.indexOf(method) : methods.length);
  const tasks = [...Map.groupBy(runs, ({ task }) => task).values()].flatMap((ofTask) =>
    [...Map.groupBy(ofTask, ({ budget }) => budget)]
      .sort(([a], [b]) => BUDGETS.indexOf(a) - BUDGETS.indexOf(b))
      .map(([budget, members]) => {
        const byMethod = [...Map.groupBy(members, ({ method }) => method)].sort(([a], [b]) => order(a) - order(b));
        return { task: ofTask[0]?.task ?? '', budget, byMethod: new Map(byMethod) };
      }),
  );
  return {
    rows: tasks.flatMap(({ byMethod }) => [...byMethod.values()].map(buildMethodRow)),
    comparisons: tasks.flatMap(({ byMethod }) =>
      [...byMethod.keys()]
        .filter((method) => method !== 'c3')
        .flatMap((method) =>
          COMPARED.flatMap(
            (measure) => compareMethods(byMethod.get(method) ?? [], byMethod.get('c3') ?? [], measure) ?? [],
          ),
        ),
    ),
    claims: tasks.flatMap(({ task, budget, byMethod }) =>
      checkClaims(task, budget, (method) => byMethod.get(method) ?? []),
    ),
  };
}

function buildMethodRow(runs: readonly MethodRun[]): MethodRow {
  const sorted = runs.toSorted((a, b) => a.seed - b.seed);
  const [first] = sorted;
  const roles = new Set(sorted.flatMap(({ decisions }) => Object.keys(decisions)));
  const measures = Object.fromEntries(
    MEASURES.map((name) => [name, summarizeSeeds(sorted.flatMap((run) => readMeasure(run, name) ?? []))]),
  ) as Record<MeasureName, SeedSummary | null>;
  return {
    task: first?.task ?? '',
    budget: first?.budget ?? 'calls',
    method: first?.method ?? '',
    seeds: sorted.map(({ seed }) => seed),
    measures,
    decisions: Object.fromEntries(
      [...roles].flatMap((role) => {
        const found = summarizeSeeds(sorted.map(({ decisions }) => decisions[role] ?? 0));
        return found === null ? [] : [[role, found]];
      }),
    ),
    curve: averageCurves(sorted),
  };
}

/** Returns the curve over the steps that all seeds have. */
function averageCurves(runs: readonly MethodRun[]): MethodRow['curve'] {
  const steps = Math.min(...runs.map(({ curve }) => curve.length));
  return Array.from({ length: Number.isFinite(steps) ? steps : 0 }, (_, index) => {
    const points = runs.flatMap(({ curve }) => curve[index] ?? []);
    const of = (pick: (point: CurvePoint) => number): Interval =>
      studentInterval(points.map(pick)) ?? { value: 0, low: null, high: null, n: 0 };
    return {
      step: points[0]?.step ?? 0,
      evaluatorCalls: of((point) => point.evaluatorCalls).value,
      tokens: of((point) => point.tokens).value,
      meanReturn: of((point) => point.meanReturn),
    };
  });
}

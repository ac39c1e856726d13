/** Views of the dashboard made of numbers. */

import type { Interval } from '../../../src/domain/credit.ts';
import { listEvaluations } from '../../../src/domain/evaluation.ts';
import type { RunRecord } from '../../../src/domain/run.ts';
import type { StepMetrics } from '../../../src/domain/step.ts';
import { summarizeSpread, type StepRow } from '../../../src/domain/stepRows.ts';
import type { DashboardSnapshot, RunOutcome, RunTask } from '../../../src/shared/protocols/dashboardProtocol.ts';
import { buildDashboardView, type View } from '../../../webview/dashboard/view.ts';

export const METRICS: StepMetrics = {
  meanReturn: 0.5,
  loss: 0.1,
  kl: 0.001,
  clipFraction: 0.02,
  gradientNorm: 1,
  learningRate: 3e-4,
  ratioDeviation: 0,
  creditVariance: 0.2,
  generateSeconds: 2,
  trainSeconds: 1,
};

export function row(
  iteration: number,
  changes: Partial<StepMetrics> = {},
  credits: readonly number[] = [-1, 0, 0, 1],
): StepRow {
  const spread = summarizeSpread(credits);
  return {
    iteration,
    metrics: { ...METRICS, ...changes },
    episodes: 8,
    cost: { evaluatorCalls: 8, tokens: { prompt: 200, reused: 50, completion: 40 } },
    credits: {
      roles: spread === null ? [] : [{ role: 'reasoner', spread }],
      variance: spread === null ? null : { value: 0.5, contexts: 2 },
    },
  };
}

export const interval = (value: number, n = 50): Interval => ({ value, low: value - 0.1, high: value + 0.1, n });

export function record(id: string, changes: Partial<RunRecord> = {}): RunRecord {
  return {
    id,
    method: 'c3',
    seed: 1,
    status: 'done',
    createdAt: '2026-01-01T00:00:00.000Z',
    finishedAt: null,
    plannedSteps: 3,
    steps: 3,
    title: `Title of ${id}`,
    note: '',
    tags: [],
    summary: null,
    ...changes,
  };
}

export const SUMS: RunTask = { key: 'sums', label: 'sums' };

export function outcome(run: string, tokens: number, accuracy: number): RunOutcome {
  return {
    run,
    title: `Title of ${run}`,
    method: 'c3',
    seed: 1,
    task: SUMS,
    tokens,
    calls: tokens / 10,
    seconds: tokens / 100,
    accuracy: interval(accuracy),
  };
}

export function view(
  runs: readonly (readonly [string | RunRecord, readonly StepRow[]])[],
  outcomes: readonly RunOutcome[] = [],
): View {
  const records = runs.map(([run]) => (typeof run === 'string' ? record(run) : run));
  const [first, ...compared] = records;
  const snapshot: DashboardSnapshot = {
    runs: [],
    run: first ?? record('none'),
    status: 'done',
    compared,
    evaluations: records.map((one) => listEvaluations(one, [])),
    regions: [],
    models: [],
    losses: null,
    ledger: null,
    judge: null,
    outcomes,
    removal: null,
    live: null,
  };
  return buildDashboardView(snapshot, new Map(runs.map(([, rows], index) => [records[index]?.id ?? '', rows])));
}

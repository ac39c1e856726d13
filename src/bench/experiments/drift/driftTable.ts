/** What runs on chains of several lengths came to, and how fast their drift grows with the team. Pure. */
import { mean } from '../../../credit/describe.ts';
import { student } from '../../../credit/interval.ts';
import type { Interval } from '../../../domain/credit.ts';
import type { StepMetrics } from '../../../domain/step.ts';

export const DRIFT_ARMS = ['teamtr', 'naive', 'free', 'c3', 'magrpo'] as const;
export type DriftArm = (typeof DRIFT_ARMS)[number];
/** Those that update one role after the other. */
export const STAGED_ARMS = ['teamtr', 'naive', 'free'] as const satisfies readonly DriftArm[];

export const ARM_NAMES: Readonly<Record<DriftArm, string>> = {
  teamtr: 'TeamTR',
  naive: 'naive sequential',
  free: 'naive, no trust region',
  c3: 'C3',
  magrpo: 'MAGRPO',
};

export interface DriftRun {
  readonly arm: DriftArm;
  readonly roles: number;
  readonly seed: number;
  /** What each step showed. */
  readonly steps: readonly Readonly<Partial<Record<keyof StepMetrics, number | null>>>[];
  /** Share of held-out chains that the trained team solves: greedy, and sampled at the temperature of training. */
  readonly greedy: number;
  readonly sampled: number;
  readonly evaluatorCalls: number;
  readonly tokens: number;
  readonly seconds: number;
}

/** What is fitted over team size: the gap in units of the return and of its credits, and the drift. */
export const DRIFT_MEASURES = ['staleGap', 'scaledGap', 'occupancyDrift'] as const;
export type DriftMeasure = (typeof DRIFT_MEASURES)[number];

/**
 * A measure of a step. The scaled gap is the stale gap in standard deviations of the credit: the published surrogate is
 * one of standardized advantages, and a longer chain, solved less often, has smaller credits.
 */
function ofStep(step: DriftRun['steps'][number], measure: DriftMeasure): number | null {
  if (measure !== 'scaledGap') {
    return step[measure] ?? null;
  }
  const { staleGap = null, creditVariance = null } = step;
  if (staleGap === null || creditVariance === null) {
    return null;
  }
  // Without any credit nothing is learned, and there is no gap.
  return creditVariance === 0 ? 0 : staleGap / Math.sqrt(creditVariance);
}

/** The mean of a measure over the steps of a run; null where none has it. */
export function meanOf(run: DriftRun, measure: DriftMeasure): number | null {
  const values = run.steps.flatMap((step) => ofStep(step, measure) ?? []);
  return values.length === 0 ? null : mean(values);
}

/** The mean over seeds at each size, with Student's interval. */
export const bySize = (
  runs: readonly DriftRun[],
  arm: DriftArm,
  valueOf: (run: DriftRun) => number | null,
): { readonly roles: number; readonly value: Interval }[] =>
  [...new Set(runs.map(({ roles }) => roles))]
    .sort((one, other) => one - other)
    .flatMap((roles) => {
      const value = student(
        runs.flatMap((run) => (run.arm === arm && run.roles === roles ? (valueOf(run) ?? []) : [])),
      );
      return value === null ? [] : [{ roles, value }];
    });

/**
 * The exponent b of y = a n^b: least squares of log y over log n for each seed with every size, then Student's interval
 * over seeds.
 * @returns null without a seed that has two sizes or more; a seed with a value of 0 or less is left out
 */
export function exponentOf(runs: readonly DriftRun[], arm: DriftArm, measure: DriftMeasure): Interval | null {
  const own = runs.filter((run) => run.arm === arm);
  const sizes = new Set(own.map(({ roles }) => roles));
  const slopes = [...Map.groupBy(own, ({ seed }) => seed).values()].flatMap((seed) => {
    const points = seed.flatMap((run) => {
      const value = meanOf(run, measure);
      return value === null || value <= 0 ? [] : [{ x: Math.log(run.roles), y: Math.log(value) }];
    });
    return points.length < 2 || points.length < sizes.size ? [] : [slopeOf(points)];
  });
  return student(slopes);
}

/** The same fitted once, to the means over seeds; null where it is not defined. */
export function exponentOfMeans(runs: readonly DriftRun[], arm: DriftArm, measure: DriftMeasure): number | null {
  const points = bySize(runs, arm, (run) => meanOf(run, measure)).flatMap(({ roles, value: { value } }) =>
    value > 0 ? [{ x: Math.log(roles), y: Math.log(value) }] : [],
  );
  return points.length < 2 ? null : slopeOf(points);
}

function slopeOf(points: readonly { readonly x: number; readonly y: number }[]): number {
  const middle = mean(points.map(({ x }) => x));
  const spread = points.reduce((sum, { x }) => sum + (x - middle) ** 2, 0);
  return points.reduce((sum, { x, y }) => sum + (x - middle) * y, 0) / spread;
}

/** Share of all roles' updates that were above the bound before they went back, over the runs of an arm. */
export function outOfRegion(runs: readonly DriftRun[], arm: DriftArm): number | null {
  const shares = runs.flatMap((run) =>
    run.arm === arm
      ? run.steps.flatMap(({ outOfRegion: share }) =>
          share === undefined || share === null ? [] : [{ share, turns: run.roles }],
        )
      : [],
  );
  const turns = shares.reduce((sum, one) => sum + one.turns, 0);
  return turns === 0 ? null : shares.reduce((sum, one) => sum + one.share * one.turns, 0) / turns;
}

/**
 * The results of runs on chains of several lengths, and the growth of drift with team size. Pure.
 */

import { mean } from '../../../credit/describe.ts';
import { studentInterval } from '../../../credit/interval.ts';
import type { Interval } from '../../../domain/credit.ts';
import type { StepMetrics } from '../../../domain/step.ts';

export const DRIFT_ARMS = ['teamtr', 'naive', 'free', 'c3', 'magrpo'] as const;
export type DriftArm = (typeof DRIFT_ARMS)[number];
/** The arms that update one role after another. */
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
  /** The metrics of each step. */
  readonly steps: readonly Readonly<Partial<Record<keyof StepMetrics, number | null>>>[];
  /** Share of held-out chains that the trained team solves with greedy decoding. */
  readonly greedy: number;
  /** The same share when sampling at the temperature of training. */
  readonly sampled: number;
  readonly evaluatorCalls: number;
  readonly tokens: number;
  readonly seconds: number;
}

/** Measures that are fitted over team size: the gap in units of return or credit, and the drift. */
export const DRIFT_MEASURES = ['staleGap', 'scaledGap', 'occupancyDrift'] as const;
export type DriftMeasure = (typeof DRIFT_MEASURES)[number];

/**
 * Returns a measure of a step, or null if it is missing. The scaled gap is the stale gap in
 * standard deviations of the credit: the published surrogate uses standardized advantages, and a
 * longer chain is solved less often and has smaller credits.
 */
function readStepMeasure(step: DriftRun['steps'][number], measure: DriftMeasure): number | null {
  if (measure !== 'scaledGap') {
    return step[measure] ?? null;
  }
  const { staleGap = null, creditVariance = null } = step;
  if (staleGap === null || creditVariance === null) {
    return null;
  }
  // Without credit nothing is learned, so there is no gap.
  return creditVariance === 0 ? 0 : staleGap / Math.sqrt(creditVariance);
}

/** Returns the mean of a measure over the steps of a run, or null if no step has it. */
export function averageSteps(run: DriftRun, measure: DriftMeasure): number | null {
  const values = run.steps.flatMap((step) => readStepMeasure(step, measure) ?? []);
  return values.length === 0 ? null : mean(values);
}

/** Returns the mean over seeds at each size, with Student's interval. */
export const averageBySize = (
  runs: readonly DriftRun[],
  arm: DriftArm,
  valueOf: (run: DriftRun) => number | null,
): { readonly roles: number; readonly value: Interval }[] =>
  [...new Set(runs.map(({ roles }) => roles))]
    .sort((one, other) => one - other)
    .flatMap((roles) => {
      const value = studentInterval(
        runs.flatMap((run) => (run.arm === arm && run.roles === roles ? (valueOf(run) ?? []) : [])),
      );
      return value === null ? [] : [{ roles, value }];
    });

/**
 * Fits the exponent b of y = a n^b: least squares of log y over log n for each seed with every
 * size, then Student's interval over seeds. A seed with a value of 0 or less is left out.
 * @returns null if no seed has two or more sizes
 */
export function fitExponent(runs: readonly DriftRun[], arm: DriftArm, measure: DriftMeasure): Interval | null {
  const own = runs.filter((run) => run.arm === arm);
  const sizes = new Set(own.map(({ roles }) => roles));
  const slopes = [...Map.groupBy(own, ({ seed }) => seed).values()].flatMap((seed) => {
    const points = seed.flatMap((run) => {
      const value = averageSteps(run, measure);
      return value === null || value <= 0 ? [] : [{ x: Math.log(run.roles), y: Math.log(value) }];
    });
    return points.length < 2 || points.length < sizes.size ? [] : [fitSlope(points)];
  });
  return studentInterval(slopes);
}

/** Fits the exponent once to the means over seeds. Returns null if it is not defined. */
export function fitExponentOfMeans(runs: readonly DriftRun[], arm: DriftArm, measure: DriftMeasure): number | null {
  const points = averageBySize(runs, arm, (run) => averageSteps(run, measure)).flatMap(({ roles, value: { value } }) =>
    value > 0 ? [{ x: Math.log(roles), y: Math.log(value) }] : [],
  );
  return points.length < 2 ? null : fitSlope(points);
}

function fitSlope(points: readonly { readonly x: number; readonly y: number }[]): number {
  const middle = mean(points.map(({ x }) => x));
  const spread = points.reduce((sum, { x }) => sum + (x - middle) ** 2, 0);
  return points.reduce((sum, { x, y }) => sum + (x - middle) * y, 0) / spread;
}

/**
 * Returns the share of an arm's role updates that exceeded the bound before they were scaled back.
 */
export function shareOutOfRegion(runs: readonly DriftRun[], arm: DriftArm): number | null {
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

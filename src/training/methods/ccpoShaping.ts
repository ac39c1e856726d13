/** The learning signals of thinker and solver (CCPO reference sections 1, 2 and 4). Pure functions. */

import { mean, sampleVariance } from '../../credit/describe.ts';
import {
  runningDeviation,
  EPSILON,
  computeGate,
  type Paired,
  type Running,
  type Statistics,
} from './ccpoStatistics.ts';
import type { MethodSettings } from './method.ts';

/** The signals of one rollout, by role. */
export interface Signal {
  readonly thinker: number;
  readonly solver: number;
}

/**
 * Returns the signals of one rollout. With mu and sigma of the running statistics, the thinker's
 * contribution D = R_joint - R_solo and the gate g:
 *
 *   thinker: tanh(alpha * (D - mu_D) / (sigma_D + eps))
 *   solver:  g * (R_joint - mu_joint) / (sigma_joint + eps) + (1 - g) * (R_solo - mu_solo) / (sigma_solo + eps)
 *
 * If the statistics hold too few returns, or `shaping` is none: D for the thinker and R_joint for the
 * solver.
 */
export function shapeSignal({ joint, solo }: Paired, statistics: Statistics, settings: MethodSettings['ccpo']): Signal {
  const contribution = joint - solo;
  if (settings.shaping === 'none' || statistics.steps === 0 || statistics.count < settings.min_samples) {
    return { thinker: contribution, solver: joint };
  }
  const gate = computeGate(statistics, settings.eta);
  return {
    thinker: Math.tanh(settings.alpha * toStandardScore(contribution, statistics.contribution)),
    solver: gate * toStandardScore(joint, statistics.joint) + (1 - gate) * toStandardScore(solo, statistics.solo),
  };
}

/**
 * Returns the signals of the authors' later code, with the returns as scores s = 2 R - 1 and the score
 * b of the solver alone:
 *
 *   thinker: s_joint + weight * bonus,  bonus = 1 for s_joint > 0 > b, -1 for s_joint < 0 < b, else 0
 *                                       or, as a difference, (s_joint - b) / 2
 *   solver:  s_joint
 *
 * @param alone the solo return to compare with
 */
export function shapeEventSignal(
  joint: number,
  alone: number,
  { bonus: kind, bonus_weight: weight }: Pick<MethodSettings['ccpo'], 'bonus' | 'bonus_weight'>,
): Signal {
  const [score, baseline] = [2 * joint - 1, 2 * alone - 1];
  const changed = score * baseline < 0 ? Math.sign(score) : 0;
  const bonus = kind === 'event' ? changed : (score - baseline) / 2;
  return { thinker: score + weight * bonus, solver: score };
}

/** Returns the signals of the rollouts of one prompt, in order, before they are scaled. */
export function shapeSignals(
  pairs: readonly Paired[],
  statistics: Statistics,
  settings: MethodSettings['ccpo'],
): readonly Signal[] {
  if (settings.shaping !== 'event' || pairs.length === 0) {
    return pairs.map((pair) => shapeSignal(pair, statistics, settings));
  }
  const together = mean(pairs.map(({ solo }) => solo));
  return pairs.map(({ joint, solo }) =>
    shapeEventSignal(joint, settings.solo_baseline === 'question' ? together : solo, settings),
  );
}

/** Returns the standard score of a value in its running statistics. */
export const toStandardScore = (value: number, running: Running): number =>
  (value - running.mean) / (runningDeviation(running) + EPSILON);

/**
 * Scales the rollouts of one prompt against each other: (r - mean) / (sample deviation + eps), or r -
 * mean. A single rollout stays as it is.
 * @returns in order
 */
export function scaleWithinPrompt(values: readonly number[], by: MethodSettings['ccpo']['normalise']): number[] {
  const variance = sampleVariance(values);
  if (variance === null || by === 'none') {
    return [...values];
  }
  const centre = mean(values);
  const scale = by === 'mean' ? 1 : Math.sqrt(variance) + EPSILON;
  return values.map((value) => (variance === 0 ? 0 : (value - centre) / scale));
}

/**
 * Pairs each rollout with the solo rollout of the same number, or with the mean of the measured ones
 * if that was not measured (C1). If no solo rollout was measured, the published code uses a solo
 * return of 0; here a missing measurement is not a 0, and nothing is learned from the prompt.
 * @returns in order; null for a rollout that was not measured or has nothing to compare with
 */
export function pairReturns(joints: readonly (number | null)[], solos: readonly (number | null)[]): (Paired | null)[] {
  const measured = solos.flatMap((solo) => solo ?? []);
  return joints.map((joint, index) =>
    joint === null || measured.length === 0 ? null : { joint, solo: solos[index] ?? mean(measured) },
  );
}

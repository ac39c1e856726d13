/**
 * The running statistics of CCPO (reference sections 1 and 4), which are the method's state. Returns,
 * solo returns and their differences each have an exponential moving average of a step's mean and
 * variance.
 */

import { mean, populationVariance } from '../../credit/describe.ts';
import type { Json } from '../../domain/episode.ts';
import type { MethodState } from '../../domain/step.ts';
import type { MethodMeasures, MethodSettings } from './method.ts';

/** A deviation below this counts as none, as in the published code. It is also added to divisors. */
export const EPSILON = 1e-6;
/** Bound of the argument of the gate. */
const STEEPEST = 20;

/** The running statistics of one stream of values. */
export interface Running {
  readonly mean: number;
  readonly variance: number;
}

export interface Statistics {
  /** The number of steps that updated the statistics. */
  readonly steps: number;
  /** The number of rollouts in the statistics. */
  readonly count: number;
  /** The returns minus the solo returns. */
  readonly contribution: Running;
  readonly joint: Running;
  readonly solo: Running;
}

/** The return of the team in a rollout, and of the solver without the thinker. */
export interface Paired {
  readonly joint: number;
  readonly solo: number;
}

const NONE: Running = { mean: 0, variance: 0 };
export const NO_STATISTICS: Statistics = { steps: 0, count: 0, contribution: NONE, joint: NONE, solo: NONE };

/**
 * Returns the statistics after a step. The first step is copied; each later one has the weight
 * `1 - decay`:
 *
 *   mu  <- decay * mu  + (1 - decay) * mean of the step
 *   var <- decay * var + (1 - decay) * population variance of the step
 *
 * @param rollouts all rollouts of the step; without any the statistics stay as they are
 */
export function updateStatistics(statistics: Statistics, rollouts: readonly Paired[], decay: number): Statistics {
  if (rollouts.length === 0) {
    return statistics;
  }
  const next = (running: Running, values: readonly number[]): Running =>
    moveRunning(statistics.steps === 0 ? null : running, values, decay);
  return {
    steps: statistics.steps + 1,
    count: statistics.count + rollouts.length,
    contribution: next(
      statistics.contribution,
      rollouts.map(({ joint, solo }) => joint - solo),
    ),
    joint: next(
      statistics.joint,
      rollouts.map(({ joint }) => joint),
    ),
    solo: next(
      statistics.solo,
      rollouts.map(({ solo }) => solo),
    ),
  };
}

/**
 * Returns a running statistic after the values of one more step.
 * @param running null before the first step
 */
export function moveRunning(running: Running | null, values: readonly number[], decay: number): Running {
  const now = { mean: mean(values), variance: populationVariance(values) };
  return running === null
    ? now
    : {
        mean: decay * running.mean + (1 - decay) * now.mean,
        variance: decay * running.variance + (1 - decay) * now.variance,
      };
}

/** Returns the deviation of a stream, or 1 if its values never varied. */
export function runningDeviation({ variance }: Running): number {
  const deviation = Math.sqrt(variance);
  return deviation > EPSILON ? deviation : 1;
}

/**
 * Returns the solver's weight of the return with the thinker: sigmoid(eta mu / (sigma + eps)) of the
 * thinker's contribution, more than one half if that was positive so far.
 */
export function computeGate({ contribution }: Statistics, eta: number): number {
  const argument = (eta * contribution.mean) / (runningDeviation(contribution) + EPSILON);
  return 1 / (1 + Math.exp(-Math.max(-STEEPEST, Math.min(STEEPEST, argument))));
}

/** Returns the statistics as a method state; JSON keeps every bit of a number. */
export const toStatisticsState = ({ steps, count, contribution, joint, solo }: Statistics): MethodState => ({
  json: { steps, count, contribution: { ...contribution }, joint: { ...joint }, solo: { ...solo } },
  tensors: {},
});

/**
 * Reads the statistics of a stored state.
 * @throws Error if it has another form; the store checks its hash, so no other version wrote it
 */
export function readStatistics({ json }: MethodState): Statistics {
  return {
    steps: readStateNumber(json, 'steps'),
    count: readStateNumber(json, 'count'),
    contribution: readRunning(json, 'contribution'),
    joint: readRunning(json, 'joint'),
    solo: readRunning(json, 'solo'),
  };
}

/**
 * Reads a running statistic of a stored state.
 * @throws Error if there is none
 */
export const readRunning = (json: Json | undefined, key: string): Running => ({
  mean: readStateNumber(getJsonMember(json, key), 'mean'),
  variance: readStateNumber(getJsonMember(json, key), 'variance'),
});

export function getJsonMember(json: Json | undefined, key: string): Json | undefined {
  return typeof json === 'object' && json !== null && !Array.isArray(json)
    ? new Map<string, Json>(Object.entries(json)).get(key)
    : undefined;
}

export function readStateNumber(json: Json | undefined, key: string): number {
  const value = getJsonMember(json, key);
  if (typeof value !== 'number') {
    throw new Error(`The statistics of ccpo have no number ${key}.`);
  }
  return value;
}

/** Returns the measures of a thinker and a solver's statistics; none before the first step. */
export function measurePairStatistics(
  state: MethodState,
  { ccpo: { eta } }: Pick<MethodSettings, 'ccpo'>,
): MethodMeasures {
  const statistics = readStatistics(state);
  const { steps, contribution, joint, solo } = statistics;
  if (steps === 0) {
    return {};
  }
  return {
    contribution: contribution.mean,
    contributionDeviation: Math.sqrt(contribution.variance),
    jointReturn: joint.mean,
    jointDeviation: Math.sqrt(joint.variance),
    soloReturn: solo.mean,
    soloDeviation: Math.sqrt(solo.variance),
    gate: computeGate(statistics, eta),
  };
}

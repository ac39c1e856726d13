/**
 * The running statistics of CCPO (reference sections 1 and 4), which are the state of the method: of returns, of solo
 * returns and of their differences, each an exponential moving average of the mean and the variance of a step.
 */
import { mean, populationVariance } from '../../credit/describe.ts';
import type { Json } from '../../domain/episode.ts';
import type { MethodState } from '../../domain/step.ts';
import type { MethodMeasures, MethodSettings } from './method.ts';

/** Below this a deviation is none, as in the published code; it is added where one divides, too. */
export const EPSILON = 1e-6;
/** Bound of the argument of the gate. */
const STEEPEST = 20;

/** Of one stream. */
export interface Running {
  readonly mean: number;
  readonly variance: number;
}

export interface Statistics {
  /** Steps that updated them. */
  readonly steps: number;
  /** Rollouts that they were made from. */
  readonly count: number;
  /** Returns less solo returns. */
  readonly contribution: Running;
  readonly joint: Running;
  readonly solo: Running;
}

/** A rollout of the team with what the solver had without the thinker. */
export interface Paired {
  readonly joint: number;
  readonly solo: number;
}

const NONE: Running = { mean: 0, variance: 0 };
export const NO_STATISTICS: Statistics = { steps: 0, count: 0, contribution: NONE, joint: NONE, solo: NONE };

/**
 * The statistics after a step. The first step is copied; each later one counts `1 - decay`:
 *
 *   mu  <- decay * mu  + (1 - decay) * mean of the step
 *   var <- decay * var + (1 - decay) * population variance of the step
 *
 * @param rollouts all of the step; without any the statistics stay as they are
 */
export function updated(statistics: Statistics, rollouts: readonly Paired[], decay: number): Statistics {
  if (rollouts.length === 0) {
    return statistics;
  }
  const next = (running: Running, values: readonly number[]): Running =>
    movedTo(statistics.steps === 0 ? null : running, values, decay);
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

/** A running statistic after the values of one more step; null before the first. */
export function movedTo(running: Running | null, values: readonly number[], decay: number): Running {
  const now = { mean: mean(values), variance: populationVariance(values) };
  return running === null
    ? now
    : {
        mean: decay * running.mean + (1 - decay) * now.mean,
        variance: decay * running.variance + (1 - decay) * now.variance,
      };
}

/** The deviation of a stream; 1 where nothing ever varied. */
export function deviationOf({ variance }: Running): number {
  const deviation = Math.sqrt(variance);
  return deviation > EPSILON ? deviation : 1;
}

/**
 * What the return with the thinker weighs for the solver: sigmoid(eta mu / (sigma + eps)) of the thinker's
 * contribution, more than one half where that was positive so far.
 */
export function gateOf({ contribution }: Statistics, eta: number): number {
  const argument = (eta * contribution.mean) / (deviationOf(contribution) + EPSILON);
  return 1 / (1 + Math.exp(-Math.max(-STEEPEST, Math.min(STEEPEST, argument))));
}

/** The statistics as they are stored: JSON keeps every bit of a number. */
export const stateOf = ({ steps, count, contribution, joint, solo }: Statistics): MethodState => ({
  json: { steps, count, contribution: { ...contribution }, joint: { ...joint }, solo: { ...solo } },
  tensors: {},
});

/**
 * The statistics of a stored state.
 * @throws Error where it is of another form: the store checks its hash, so no other version wrote it
 */
export function statisticsOf({ json }: MethodState): Statistics {
  return {
    steps: numberIn(json, 'steps'),
    count: numberIn(json, 'count'),
    contribution: runningIn(json, 'contribution'),
    joint: runningIn(json, 'joint'),
    solo: runningIn(json, 'solo'),
  };
}

/** A running statistic of a stored state. @throws Error where there is none */
export const runningIn = (json: Json | undefined, key: string): Running => ({
  mean: numberIn(memberOf(json, key), 'mean'),
  variance: numberIn(memberOf(json, key), 'variance'),
});

export function memberOf(json: Json | undefined, key: string): Json | undefined {
  return typeof json === 'object' && json !== null && !Array.isArray(json)
    ? new Map<string, Json>(Object.entries(json)).get(key)
    : undefined;
}

export function numberIn(json: Json | undefined, key: string): number {
  const value = memberOf(json, key);
  if (typeof value !== 'number') {
    throw new Error(`The statistics of ccpo have no number ${key}.`);
  }
  return value;
}

/** What a step shows of the statistics of a thinker and a solver; nothing before the first. */
export function measuresOf(state: MethodState, { ccpo: { eta } }: Pick<MethodSettings, 'ccpo'>): MethodMeasures {
  const statistics = statisticsOf(state);
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
    gate: gateOf(statistics, eta),
  };
}

/** The table of methods by their configuration names, and queries on it. */

import { chooseContextEstimator, type CreditEstimator } from '../../credit/estimators.ts';
import type { Protocol } from '../../team/protocol.ts';
import { countFanoutCalls, countTreeMessages } from '../../team/rounds.ts';
import { c3 } from './c3.ts';
import { c3FullMean } from './c3FullMean.ts';
import { c3NoReplay } from './c3NoReplay.ts';
import { ccpo } from './ccpo.ts';
import { describeThreshold, describeTree } from './joint.ts';
import { magrpo } from './magrpo.ts';
import { mappo } from './mappo.ts';
import type { Method, MethodKey, MethodSettings, MethodWords, Rollout } from './method.ts';
import { sft } from './sft.ts';
import { teamTr } from './teamTr.ts';

/** In the order in which interfaces list them. */
const METHODS = {
  c3,
  c3_no_replay: c3NoReplay,
  c3_full_mean: c3FullMean,
  magrpo,
  mappo,
  teamtr: teamTr,
  ccpo,
  sft,
} as const satisfies Readonly<Record<string, Method>>;

export type MethodName = keyof typeof METHODS;

const isMethodName = (name: string): name is MethodName => Object.hasOwn(METHODS, name);

export const METHOD_NAMES: readonly MethodName[] = Object.keys(METHODS).filter(isMethodName);

export const getMethod = (name: MethodName): Method => METHODS[name];

export const getMethodWords = (name: MethodName): MethodWords => getMethod(name).words;

/** Returns the texts of a method by a name from a store; undefined if there is no such method. */
export const findMethodWords = (name: string): MethodWords | undefined =>
  isMethodName(name) ? getMethodWords(name) : undefined;

/** Returns true if a method reads a key that not every method does. */
export const methodReadsKey = (name: MethodName, key: MethodKey): boolean => getMethodWords(name).reads.includes(key);

export const listMethodsReading = (key: MethodKey): readonly MethodName[] =>
  METHOD_NAMES.filter((name) => methodReadsKey(name, key));

type NamedSettings = MethodSettings & { readonly method: MethodName };

/** Returns the largest number of stages in a step of a method. */
export const countStages = (method: Method, settings: MethodSettings, protocol: Protocol): number =>
  method.stages?.(settings, protocol) ?? 1;

/** Returns the rollouts of the first stages of an iteration for each problem, by default of all stages. */
export const listRollouts = (
  method: Method,
  settings: MethodSettings,
  protocol: Protocol,
  stages = countStages(method, settings, protocol),
): readonly Rollout[] => Array.from({ length: stages }, (_, stage) => method.plan(settings, protocol, stage)).flat();

/** Returns the rollouts of one iteration for each problem, in all its stages. */
export const listPlannedRollouts = (settings: NamedSettings, protocol: Protocol): readonly Rollout[] =>
  listRollouts(getMethod(settings.method), settings, protocol);

/** Returns the number of evaluator calls that one iteration makes for one problem. */
export function countCallsPerProblem(settings: NamedSettings, protocol: Protocol): number {
  return countRolloutCalls(listPlannedRollouts(settings, protocol), protocol);
}

/** Returns the number of evaluator calls for some rollouts of one problem. */
export function countRolloutCalls(rollouts: readonly Rollout[], protocol: Protocol): number {
  return rollouts.reduce((calls, { fanout, shape }) => calls + countFanoutCalls(protocol, fanout, shape), 0);
}

/**
 * Returns the largest number of extra calls with which a method scores the answers of one problem's
 * votes: one for each distinct answer, and every message may state a different one.
 */
export const countMostVoteCalls = (method: Method, rollouts: readonly Rollout[], protocol: Protocol): number =>
  method.countsVotes?.(protocol) === true
    ? rollouts
        .flatMap(({ fanout, shape = 'nested' }) => countTreeMessages(fanout, shape, protocol.occurrences.length))
        .reduce((sum, messages) => sum + messages, 0)
    : 0;

/** Returns true if a method's baseline is the value of the state, so that it needs the value head. */
export const valuesStates = (settings: NamedSettings): boolean =>
  getMethod(settings.method).valueTarget(settings) === 'state';

/**
 * Returns the estimator that diagnostics of single contexts use for a method's credit. MAGRPO's
 * baseline is the mean that includes the message's own return; MAPPO's baseline is not a return, so
 * its stored credits are used.
 */
export function getContextEstimator(settings: NamedSettings): CreditEstimator {
  return chooseContextEstimator(getMethod(settings.method).estimator(settings));
}

/** Returns remarks on a configuration for a user who compares methods, one line each. */
export function listMethodRemarks(settings: NamedSettings, protocol: Protocol): readonly string[] {
  const { method, steps, evaluator_budget: budget } = settings;
  if (steps === 0) {
    return [];
  }
  const calls = countCallsPerProblem(settings, protocol);
  const made = `${method} makes ${calls} of ${budget} evaluator calls per problem and step`;
  const unused = calls < budget ? [`${made}: its budget is not that of a method that makes all of them.`] : [];
  const tree =
    settings.magrpo === null
      ? []
      : [describeTree(settings.magrpo, protocol), describeThreshold(settings.magrpo, protocol) ?? []].flat();
  return [...tree, ...unused, ...getMethod(method).remarks(settings, protocol)];
}

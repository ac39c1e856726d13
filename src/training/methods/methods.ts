/**
 * The methods by the names that configurations give them. The table is their only list; what is said of each is in its
 * file.
 */
import { contextEstimatorOf, type CreditEstimator } from '../../credit/estimators.ts';
import type { Protocol } from '../../team/protocol.ts';
import { callsOfFanout, messagesOf } from '../../team/rounds.ts';
import { c3 } from './c3.ts';
import { c3FullMean } from './c3FullMean.ts';
import { c3NoReplay } from './c3NoReplay.ts';
import { ccpo } from './ccpo.ts';
import { thresholdWords, treeWords } from './joint.ts';
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

/** A method by its name. */
export const methodNamed = (name: MethodName): Method => METHODS[name];

/** What is said of a method. */
export const methodWords = (name: MethodName): MethodWords => methodNamed(name).words;

/** The same for a name that a store gives; undefined where it is none of ours. */
export const knownMethodWords = (name: string): MethodWords | undefined =>
  isMethodName(name) ? methodWords(name) : undefined;

/** Whether a method reads a key that not every method does. */
export const methodReads = (name: MethodName, key: MethodKey): boolean => methodWords(name).reads.includes(key);

/** The names of the methods that read a key which not every method does. */
export const methodsThatRead = (key: MethodKey): readonly MethodName[] =>
  METHOD_NAMES.filter((name) => methodReads(name, key));

type NamedSettings = MethodSettings & { readonly method: MethodName };

/** Stages of a step of a method, at most. */
export const stagesOf = (method: Method, settings: MethodSettings, protocol: Protocol): number =>
  method.stages?.(settings, protocol) ?? 1;

/** What the first stages of an iteration roll out for each problem, all of them unless a number is given. */
export const rolloutsOf = (
  method: Method,
  settings: MethodSettings,
  protocol: Protocol,
  stages = stagesOf(method, settings, protocol),
): readonly Rollout[] => Array.from({ length: stages }, (_, stage) => method.plan(settings, protocol, stage)).flat();

/** What one iteration rolls out for each problem, in all its stages. */
export const plannedRollouts = (settings: NamedSettings, protocol: Protocol): readonly Rollout[] =>
  rolloutsOf(methodNamed(settings.method), settings, protocol);

/** Evaluator calls that one iteration makes for one problem. */
export function callsPerProblem(settings: NamedSettings, protocol: Protocol): number {
  return callsOfRollouts(plannedRollouts(settings, protocol), protocol);
}

/** Evaluator calls of some rollouts of one problem. */
export function callsOfRollouts(rollouts: readonly Rollout[], protocol: Protocol): number {
  return rollouts.reduce((calls, { fanout, shape }) => calls + callsOfFanout(protocol, fanout, shape), 0);
}

/**
 * Further calls, at most, with which a method scores the answers of one problem's votes by themselves: one for each
 * distinct answer, and every message may state another one.
 */
export const voteCallsAtMost = (method: Method, rollouts: readonly Rollout[], protocol: Protocol): number =>
  method.countsVotes?.(protocol) === true
    ? rollouts
        .flatMap(({ fanout, shape = 'nested' }) => messagesOf(fanout, shape, protocol.occurrences.length))
        .reduce((sum, messages) => sum + messages, 0)
    : 0;

/** Whether a method's baseline is the value of the state, so that who measures its credit needs the value head. */
export const valuesStates = (settings: NamedSettings): boolean =>
  methodNamed(settings.method).valueTarget(settings) === 'state';

/**
 * A method's credit as diagnostics of single contexts know it: MAGRPO's baseline is the mean that holds the own return;
 * MAPPO's is no return, so its credits are stored.
 */
export function contextEstimator(settings: NamedSettings): CreditEstimator {
  return contextEstimatorOf(methodNamed(settings.method).estimator(settings));
}

/** What a user who compares methods should know of a configuration, one line each. */
export function methodRemarks(settings: NamedSettings, protocol: Protocol): readonly string[] {
  const { method, steps, evaluator_budget: budget } = settings;
  if (steps === 0) {
    return [];
  }
  const calls = callsPerProblem(settings, protocol);
  const made = `${method} makes ${calls} of ${budget} evaluator calls per problem and step`;
  const unused = calls < budget ? [`${made}: its budget is not that of a method that makes all of them.`] : [];
  const tree =
    settings.magrpo === null
      ? []
      : [treeWords(settings.magrpo, protocol), thresholdWords(settings.magrpo, protocol) ?? []].flat();
  return [...tree, ...unused, ...methodNamed(method).remarks(settings, protocol)];
}

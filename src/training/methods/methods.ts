/** The algorithms of the methods, by the names that configurations give them. */
import { contextEstimatorOf, type CreditEstimator } from '../../credit/estimators.ts';
import { callsOfFanout } from '../../replay/episodes.ts';
import type { Protocol } from '../../team/protocol.ts';
import { c3 } from './c3.ts';
import { c3FullMean } from './c3FullMean.ts';
import { c3NoReplay } from './c3NoReplay.ts';
import { magrpo } from './magrpo.ts';
import { mappo } from './mappo.ts';
import type { Method, MethodSettings, Rollout } from './method.ts';
import { sft } from './sft.ts';
import type { MethodName } from './words.ts';

const METHODS: Readonly<Record<MethodName, Method>> = {
  c3,
  c3_no_replay: c3NoReplay,
  c3_full_mean: c3FullMean,
  magrpo,
  mappo,
  sft,
};

type NamedSettings = MethodSettings & { readonly method: MethodName };

/** A method by its name. */
export const methodNamed = (name: MethodName): Method => METHODS[name];

/** What one iteration rolls out for each instance. */
export const plannedRollouts = (settings: NamedSettings, protocol: Protocol): readonly Rollout[] =>
  methodNamed(settings.method).plan(settings, protocol);

/** Evaluator calls that one iteration makes for one instance. */
export function callsPerInstance(settings: NamedSettings, protocol: Protocol): number {
  return callsOfRollouts(plannedRollouts(settings, protocol), protocol);
}

/** Evaluator calls of some rollouts of one instance. */
export function callsOfRollouts(rollouts: readonly Rollout[], protocol: Protocol): number {
  return rollouts.reduce((calls, { fanout }) => calls + callsOfFanout(protocol, fanout), 0);
}

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
  const calls = callsPerInstance(settings, protocol);
  const made = `${method} makes ${String(calls)} of ${String(budget)} evaluator calls per instance and step`;
  const unused = calls < budget ? [`${made}: its budget is not that of a method that makes all of them.`] : [];
  return [...unused, ...methodNamed(method).remarks(settings)];
}

/** The methods by the names that configurations give them. */
import { contextEstimatorOf, type CreditEstimator } from '../../credit/estimators.ts';
import { callsOfFanout } from '../../replay/tree.ts';
import type { MethodName } from '../../shared/runNames.ts';
import type { Protocol } from '../../team/protocol.ts';
import { c3 } from './c3.ts';
import { c3FullMean } from './c3FullMean.ts';
import { c3NoReplay } from './c3NoReplay.ts';
import { magrpo } from './magrpo.ts';
import { mappo } from './mappo.ts';
import type { Method, MethodSettings } from './method.ts';
import { sft } from './sft.ts';

export { METHOD_NAMES, type MethodName } from '../../shared/runNames.ts';

const METHODS: Readonly<Record<MethodName, Method>> = { c3, c3_no_replay: c3NoReplay, c3_full_mean: c3FullMean, magrpo, mappo, sft };

/** A method by its name. */
export const methodNamed = (name: MethodName): Method => METHODS[name];

/** Evaluator calls that one iteration makes for one instance. */
export function callsPerInstance(settings: MethodSettings & { readonly method: MethodName }, protocol: Protocol): number {
  return callsOfFanout(protocol, protocol.occurrences.map(({ position }) => position), methodNamed(settings.method).fanout(settings, protocol));
}

/** Whether a method's baseline is the value of the state, so that who measures its credit needs the value head. */
export const judgesStates = (settings: MethodSettings & { readonly method: MethodName }): boolean => methodNamed(settings.method).judged(settings) === 'state';

/** A method's credit as diagnostics of single contexts know it: MAGRPO's baseline is the mean that holds the own return; MAPPO's is no return, so its credits are stored. */
export function contextEstimator(settings: MethodSettings & { readonly method: MethodName }): CreditEstimator {
  return contextEstimatorOf(methodNamed(settings.method).estimator(settings));
}

/** What a user who compares methods should know of a configuration, one line each. */
export function methodRemarks(settings: MethodSettings & { readonly method: MethodName; readonly steps: number }, protocol: Protocol): string[] {
  const { method, steps, evaluator_budget: budget, credit } = settings;
  if (steps === 0) return [];
  const remarks: string[] = [];
  const calls = callsPerInstance(settings, protocol);
  if (calls < budget) remarks.push(`${method} makes ${String(calls)} of ${String(budget)} evaluator calls per instance and step: its budget is not that of a method that makes all of them.`);
  if (method === 'c3_no_replay') {
    remarks.push(
      credit.group_normalise
        ? 'With credit.group_normalise c3_no_replay and magrpo give the same advantages: scaling erases the factor between them.'
        : 'c3_no_replay gives the advantages of magrpo times n / (n - 1), n episodes of an instance: the two differ by that factor only, and AdamW, which scales its steps, leaves little of it.',
    );
  }
  if (method === 'mappo' && credit.group_normalise) remarks.push('With credit.group_normalise mappo gives the first role the advantages of magrpo: all its messages of an instance answer one state, and scaling takes its value out again.');
  if (method === 'c3_full_mean' && credit.group_normalise) remarks.push('With credit.group_normalise c3_full_mean gives the advantages of c3: scaling erases the factor n / (n - 1) between them, so this ablation changes nothing.');
  return remarks;
}

/** The weights of a role: its own adapter over the model, the adapter of the team, or the model alone. */

import { WHOLE_TEAM, type AdapterOrigin, type PolicyWeights } from '../model/lora.ts';
import type { ModelNumbers } from '../model/model.ts';
import type { AdapterSettings } from '../model/transformer.ts';
import { type TrainingState, selectPolicyWeights } from './trainingState.ts';

/** The content of a snapshot: a model, alone or under adapters. */
export interface SnapshotContent {
  readonly model: ModelNumbers;
  readonly team?: { readonly origin: AdapterOrigin; readonly adapters: ReadonlyMap<string, Float32Array> };
}

/** The indices of items that use the same weights. */
export interface WeightsGroup {
  readonly weights: PolicyWeights;
  /** Settings of the adapter in the weights, or undefined if there is none. */
  readonly settings: AdapterSettings | undefined;
  readonly indices: number[];
}

type Items = readonly { readonly role?: string }[];

/** Returns the role whose state a speaker uses: its own, or that of the whole team. */
export const findStateRole = (training: ReadonlyMap<string, unknown>, role = WHOLE_TEAM): string =>
  training.has(role) ? role : WHOLE_TEAM;

/** Returns the adapter base of a training, or undefined if whole models are trained. */
export const findAdapterBase = (training: ReadonlyMap<string, TrainingState>): TrainingState['adapter'] =>
  [...training.values()][0]?.adapter;

/** Groups items by the weights that their roles use in a snapshot, in order of appearance. */
export function groupBySnapshotWeights({ model, team }: SnapshotContent, items: Items): WeightsGroup[] {
  return groupByRole(
    team?.adapters ?? new Map<string, Float32Array>(),
    items,
    (adapter) => (adapter === undefined ? model : { model, adapter }),
    team?.origin.settings,
  );
}

/**
 * Groups items by the state that is trained for their roles, in order of appearance.
 * @param training has a state for every role
 */
export function groupByTrainedState(training: ReadonlyMap<string, TrainingState>, items: Items): WeightsGroup[] {
  return groupByRole(
    training,
    items,
    (state) => (state === undefined ? new Float32Array() : selectPolicyWeights(state)),
    findAdapterBase(training)?.settings,
  );
}

function groupByRole<Owned>(
  owned: ReadonlyMap<string, Owned>,
  items: Items,
  weightsFor: (own: Owned | undefined) => PolicyWeights,
  settings: AdapterSettings | undefined,
): WeightsGroup[] {
  return [...Map.groupBy(items.keys(), (index) => findStateRole(owned, items[index]?.role))].map(([role, indices]) => {
    const weights = weightsFor(owned.get(role));
    return { weights, settings: 'adapter' in weights ? settings : undefined, indices };
  });
}

/** Whose weights answer for a role: its own adapter over the model, the team's, or the model alone. */
import { WHOLE_TEAM, type AdapterOrigin, type PolicyWeights } from '../model/lora.ts';
import type { ModelNumbers } from '../model/model.ts';
import type { AdapterSettings } from '../model/transformer.ts';
import { type TrainingState, weightsOf } from './trainingState.ts';

/** What a snapshot consists of: a model, alone or under adapters. */
export interface Held {
  readonly model: ModelNumbers;
  readonly team?: { readonly origin: AdapterOrigin; readonly adapters: ReadonlyMap<string, Float32Array> };
}

/** Items by their place that the same weights answer for. */
export interface WeightsGroup {
  readonly weights: PolicyWeights;
  /** Of the adapter in the weights; undefined where there is none. */
  readonly settings: AdapterSettings | undefined;
  readonly indices: number[];
}

type Items = readonly { readonly role?: string }[];

/** The role whose state answers for a speaker: its own, or the whole team's. */
export const stateOf = (training: ReadonlyMap<string, unknown>, role = WHOLE_TEAM): string =>
  training.has(role) ? role : WHOLE_TEAM;

/** What the states of a training are based on; undefined where whole models are trained. */
export const adapterOf = (training: ReadonlyMap<string, TrainingState>): TrainingState['adapter'] =>
  [...training.values()][0]?.adapter;

/** Items by the weights of a snapshot that their roles speak with, in order of appearance. */
export function heldGroups({ model, team }: Held, items: Items): WeightsGroup[] {
  return grouped(
    team?.adapters ?? new Map<string, Float32Array>(),
    items,
    (adapter) => (adapter === undefined ? model : { model, adapter }),
    team?.origin.settings,
  );
}

/** Items by what is trained for their roles, in order of appearance. @param training has something for every role */
export function trainedGroups(training: ReadonlyMap<string, TrainingState>, items: Items): WeightsGroup[] {
  return grouped(
    training,
    items,
    (state) => (state === undefined ? new Float32Array() : weightsOf(state)),
    adapterOf(training)?.settings,
  );
}

function grouped<Owned>(
  owned: ReadonlyMap<string, Owned>,
  items: Items,
  weightsFor: (own: Owned | undefined) => PolicyWeights,
  settings: AdapterSettings | undefined,
): WeightsGroup[] {
  return [...Map.groupBy(items.keys(), (index) => stateOf(owned, items[index]?.role))].map(([role, indices]) => {
    const weights = weightsFor(owned.get(role));
    return { weights, settings: 'adapter' in weights ? settings : undefined, indices };
  });
}

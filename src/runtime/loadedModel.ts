/** A loaded architecture: its weights, its snapshots and its training state. */

import type { AbortFlag } from '../shared/cancellation.ts';
import type { Precision } from '../shared/devices.ts';
import { C3Error } from '../shared/errors.ts';
import type { Engines } from './engines.ts';
import { adapterSnapshotId, WHOLE_TEAM, type AdapterOrigin } from './model/lora.ts';
import type { StoredAdapters } from './model/loraFolder.ts';
import { loadModel, snapshotId, type ModelNumbers } from './model/model.ts';
import type { TransformerConfig } from './model/transformer.ts';
import type { TrainingStates } from './train/checkpoint.ts';
import {
  findAdapterBase,
  groupBySnapshotWeights,
  findStateRole,
  groupByTrainedState,
  type SnapshotContent,
  type WeightsGroup,
} from './train/roleWeights.ts';
import type { Distributions } from './train/trainer.ts';
import { initialValueHead, type ValueHead, type ValueState } from './train/valueHead.ts';

export interface LoadedFolder {
  readonly config: TransformerConfig;
  readonly folder: string;
  /** Name of the snapshot of the folder's weights. */
  readonly base: string;
  readonly engines: Engines;
  readonly precision: Precision;
}

/** A loaded model. Its snapshots and its training stay until another architecture replaces it. */
export class LoadedModel {
  readonly config: TransformerConfig;
  /** The folder that the weights of `base` can be read from again. */
  folder: string;
  base: string;
  readonly engines: Engines;
  readonly snapshots = new Map<string, SnapshotContent>();
  training: TrainingStates | undefined;
  /** The copy of `training` that keepTraining made. */
  kept: TrainingStates | undefined;
  /** The value head of the training, or undefined while it still gives 0 for every state. */
  valueHead: ValueHead | undefined;
  private readonly precision: Precision;
  /** Snapshot names of parameters that were frozen before and never change. */
  private readonly names = new WeakMap<Float32Array, string>();

  constructor({ config, folder, base, engines, precision }: LoadedFolder) {
    this.config = config;
    this.folder = folder;
    this.base = base;
    this.engines = engines;
    this.precision = precision;
  }

  /** Adds the trained parameters as a snapshot and returns its name. */
  freeze(): string {
    const training = this.states;
    const origin = findAdapterBase(training);
    const { config, snapshots } = this;
    const parameters = new Map([...training].map(([role, state]) => [role, state.parameters]));
    if (origin === undefined) {
      const model = parameters.get(WHOLE_TEAM) ?? new Float32Array();
      const snapshot = this.names.get(model) ?? snapshotId(config, model);
      this.names.set(model, snapshot);
      snapshots.set(snapshot, { model });
      return snapshot;
    }
    const { settings, base, model } = origin;
    return this.hold({ settings, base }, parameters, model);
  }

  /** @throws C3Error('model') if the snapshot is not loaded */
  held(snapshot: string): SnapshotContent {
    const held = this.snapshots.get(snapshot);
    if (held === undefined) {
      throw new C3Error('model', `Snapshot ${snapshot.slice(0, 12)} is not loaded; load its weights file first.`);
    }
    return held;
  }

  /** Adds the snapshot of adapters over another snapshot and returns its name. */
  async holdAdapters({ settings, adapters }: StoredAdapters, base: string): Promise<string> {
    return this.hold({ settings, base }, adapters, await this.baseModel(base));
  }

  private hold(origin: AdapterOrigin, adapters: ReadonlyMap<string, Float32Array>, model: ModelNumbers): string {
    const { config, snapshots } = this;
    const snapshot = adapterSnapshotId(config, origin, adapters);
    snapshots.set(snapshot, snapshot === origin.base ? { model } : { model, team: { origin, adapters } });
    return snapshot;
  }

  /**
   * Returns the model under adapters: from a loaded snapshot, from under the adapters of one, from the
   * training, or from the model folder again.
   * @throws C3Error('model') if it is in none of them
   */
  async baseModel(base: string): Promise<ModelNumbers> {
    const held =
      this.snapshots.get(base) ?? [...this.snapshots.values()].find(({ team }) => team?.origin.base === base);
    if (held !== undefined) {
      return held.model;
    }
    const training = this.training === undefined ? undefined : findAdapterBase(this.training);
    if (training?.base === base) {
      return training.model;
    }
    if (base === this.base) {
      const { parameters, snapshot } = await loadModel(this.folder, { precision: this.precision });
      if (snapshot === base) {
        return parameters;
      }
    }
    throw new C3Error(
      'model',
      `The adapter was trained over the weights ${base.slice(0, 12)}, which are not loaded; load the model that it was trained over first.`,
    );
  }

  /** The current value head. A new one gives 0 for every state. */
  get head(): ValueHead {
    return this.valueHead ?? initialValueHead(this.config.hiddenSize);
  }

  /**
   * Returns the whole distributions of a snapshot for messages that use one set of its weights.
   * @throws C3Error('model') if they use several
   */
  async distributions(
    snapshot: string,
    items: readonly { readonly role?: string }[],
    temperature: number,
  ): Promise<Distributions> {
    const [group = { weights: this.held(snapshot).model, settings: undefined }, ...others] = groupBySnapshotWeights(
      this.held(snapshot),
      items,
    );
    if (others.length > 0) {
      throw new C3Error(
        'model',
        `Snapshot ${snapshot.slice(0, 12)} has several adapters for messages that share one; compare it with one of its own run.`,
      );
    }
    const { trainer } = await this.engines.of(group.settings);
    return trainer.distributions(group.weights, temperature);
  }

  /** Returns the final hidden state of each state's last token under the policy in training. */
  async trainedStates(states: readonly ValueState[], signal: AbortFlag): Promise<Float32Array[]> {
    return this.lastStates(groupByTrainedState(this.trainingOf(states), states), states, signal);
  }

  /** Returns the final hidden state of each state's last token under the given weights. */
  async lastStates(
    groups: readonly WeightsGroup[],
    states: readonly ValueState[],
    signal: AbortFlag,
  ): Promise<Float32Array[]> {
    const found: Float32Array[] = [];
    for (const { weights, settings, indices } of groups) {
      const { trainer } = await this.engines.of(settings);
      const hidden = await trainer.lastStates(
        weights,
        indices.map((index) => states[index]?.tokens ?? new Int32Array()),
        signal,
      );
      hidden.forEach((one, place) => (found[indices[place] ?? place] = one));
    }
    return found;
  }

  /**
   * Returns the training state.
   * @throws C3Error('model') if a role has nothing to train
   */
  trainingOf(items: readonly { readonly role?: string }[]): TrainingStates {
    const training = this.states;
    const stranger = items.find(({ role }) => !training.has(findStateRole(training, role)));
    if (stranger !== undefined) {
      throw new C3Error(
        'model',
        `Nothing is trained for the role ${JSON.stringify(stranger.role ?? '')}; begin training with an ` +
          'adapter for it.',
      );
    }
    return training;
  }

  /** Returns the training state with its moments in ordinary memory. */
  async downloaded(): Promise<TrainingStates> {
    const training = this.states;
    const { trainer } = await this.engines.of(findAdapterBase(training)?.settings);
    for (const state of training.values()) {
      await trainer.download(state);
    }
    return training;
  }

  /** @throws C3Error('model') if no training was begun */
  get states(): TrainingStates {
    const { training } = this;
    if (training === undefined) {
      throw new C3Error('model', 'No training was begun; begin it from a snapshot first.');
    }
    return training;
  }
}

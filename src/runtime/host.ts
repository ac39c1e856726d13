/** Models, snapshots and the training state of one runtime: what the worker thread holds. */
import type { NumericEnvironment } from '../shared/records/records.ts';
import { C3Error } from '../shared/errors.ts';
import { adapterOf, heldGroups, stateOf, trainedGroups, type Held, type WeightsGroup } from './train/agentWeights.ts';
import { loadTrainingStates, loadValueHead, saveTrainingStates, type TrainingStates } from './train/checkpoint.ts';
import { Engines } from './engines.ts';
import type { Completion, GenerationControl, GenerationRequest } from './generate/generate.ts';
import type { OnLoadProgress } from './files/huggingFaceWeights.ts';
import { adapterSnapshotId, initialAdapter, WHOLE_TEAM, withHalves, type AdapterOrigin } from './model/lora.ts';
import {
  isAdapterFile,
  loadAdapterFile,
  loadAdapters,
  saveAdapterFile,
  saveAdapters,
  type StoredAdapters,
} from './model/loraFolder.ts';
import { checkTables, trainable } from './model/modelLimits.ts';
import {
  loadModel,
  loadParameters,
  parameterCount,
  saveParameters,
  snapshotId,
  type ModelNumbers,
} from './model/model.ts';
import type { TrainingContext } from './train/pack.ts';
import { numericEnvironment, type DeviceSettings } from './session/session.ts';
import { copyOfStates, movedBack } from './train/kept.ts';
import { together, type StepReport } from './train/stepReport.ts';
import { initialState, type PreparedStep, type StepResult, type StepSettings } from './train/trainer.ts';
import type { AdapterSettings, TransformerConfig } from './model/transformer.ts';
import {
  initialValueHead,
  learnValueHead,
  valueOf,
  type ValueExample,
  type ValueHead,
  type ValueSettings,
  type ValueState,
} from './train/valueHead.ts';
import { loadValueHeadFile, saveValueHeadFile } from './train/valueHeadFile.ts';

export interface ModelInfo {
  /** Name of the weights that were loaded. */
  readonly snapshot: string;
  readonly config: TransformerConfig;
  readonly parameters: number;
}

/** Fresh adapters to train. */
export interface AdapterStart {
  readonly settings: AdapterSettings;
  /** Agents that get one of their own; left out: one for the whole team. */
  readonly agents?: readonly string[];
  /** From which their first values are drawn. */
  readonly seed: number;
}

/** Everything that needs weights. Snapshots are named by the hash of their weights and stay until they are released. */
export interface ModelRuntime {
  readonly environment: NumericEnvironment;
  /**
   * Loads a model folder; its weights become a snapshot. One architecture at a time: another folder replaces
   * everything.
   * @param onProgress told how many bytes of the weights' files have been read, never less than before, in the end all
   *   of them; about ten times a second
   * @param cancelled asked meanwhile; cancelled or failed, what was loaded before stays
   */
  load(folder: string, onProgress?: OnLoadProgress, cancelled?: () => boolean): Promise<ModelInfo>;
  /**
   * Adds a snapshot of the loaded architecture from a file that `saveSnapshot` wrote and returns its name; an adapter's
   * needs its base loaded.
   */
  loadSnapshot(path: string): Promise<string>;
  /** Names of the snapshots that are held. */
  snapshots(): Promise<readonly string[]>;
  generate(snapshot: string, requests: readonly GenerationRequest[], control: GenerationControl): Promise<Completion[]>;
  /** Log-probabilities of every message token, per context and message, at a temperature. */
  score(
    snapshot: string,
    contexts: readonly TrainingContext[],
    temperature: number,
    cancelled: () => boolean,
  ): Promise<Float32Array[][]>;
  /**
   * Starts training from a snapshot with a fresh optimiser: all parameters, or adapters over them. The value head
   * begins at 0.
   */
  beginTraining(snapshot: string, adapter?: AdapterStart): Promise<void>;
  /**
   * One optimiser step, of each agent's adapter on that agent's contexts; cancelled or failed, the training state is as
   * before.
   */
  step(contexts: readonly TrainingContext[], settings: StepSettings, cancelled: () => boolean): Promise<StepReport>;
  /** What the value head says of states, as the policy in training sees them. */
  values(states: readonly ValueState[], cancelled: () => boolean): Promise<number[]>;
  /**
   * What a kept value head says of states, as the policy of its snapshot sees them.
   * @param head a file that `saveValueHead` wrote; null values everything at 0
   */
  valuesUnder(
    snapshot: string,
    head: string | null,
    states: readonly ValueState[],
    cancelled: () => boolean,
  ): Promise<number[]>;
  /**
   * Lets the value head learn from what followed states: an advantage is one over the value that it gives them now. The
   * policy stays as it is.
   * @returns the loss before; cancelled or failed, the head is as before
   */
  learnValues(
    states: readonly ValueState[],
    examples: readonly ValueExample[],
    settings: ValueSettings,
    cancelled: () => boolean,
  ): Promise<number>;
  /**
   * Keeps the training state with its optimizer as it is now, in the place of one that was kept before; the value head
   * is not part of it.
   */
  keepTraining(): Promise<void>;
  /**
   * Goes back to the state that was kept: whole and with its optimizer (0), or by a share of the way that the
   * parameters have gone since, each kept + share * (now - kept), with the optimizer as it is now. What was kept stays
   * kept.
   */
  revertTraining(share: number): Promise<void>;
  /** Freezes the trained parameters as a snapshot and returns its name. */
  freeze(): Promise<string>;
  /** Writes the training state with its optimiser and the value head, whole or not at all. */
  saveCheckpoint(path: string): Promise<void>;
  /** Goes back to a written training state; its parameters become a snapshot, whose name is returned. */
  loadCheckpoint(path: string): Promise<string>;
  /** Writes a snapshot as float32 safetensors; of an adapter's, only the adapter. */
  saveSnapshot(snapshot: string, path: string): Promise<void>;
  /** Writes the value head of the training, to be asked under the snapshot that was frozen with it. */
  saveValueHead(snapshot: string, path: string): Promise<void>;
  /** Whether a snapshot is a model under adapters. */
  hasAdapter(snapshot: string): Promise<boolean>;
  /**
   * Writes the adapters of a snapshot in PEFT's layout and returns their folders.
   * @param baseModel what others shall load them over
   */
  saveAdapter(snapshot: string, folder: string, baseModel: string | null): Promise<readonly string[]>;
  /** Adds the snapshot that a folder in PEFT's layout makes of another one and returns its name. */
  loadAdapter(folder: string, base: string): Promise<string>;
  releaseSnapshot(snapshot: string): Promise<void>;
  close(): Promise<void>;
}

interface Loaded {
  readonly config: TransformerConfig;
  /** Where the weights of `base` can be read again. */
  folder: string;
  base: string;
  readonly engines: Engines;
  readonly snapshots: Map<string, Held>;
  training: TrainingStates | undefined;
  /** What keepTraining kept of it. */
  kept: TrainingStates | undefined;
  /** Of the training; undefined where it values everything at 0 still. */
  valueHead: ValueHead | undefined;
}

/** The runtime in the calling thread; every native call blocks it. */
export class ModelHost implements ModelRuntime {
  readonly environment: NumericEnvironment;
  private readonly device: DeviceSettings;
  private loaded: Loaded | undefined;

  constructor(device: DeviceSettings) {
    this.device = device;
    this.environment = numericEnvironment(device);
  }

  async load(folder: string, onProgress?: OnLoadProgress, cancelled?: () => boolean): Promise<ModelInfo> {
    const { precision = 'float32' } = this.device;
    const { config, parameters, snapshot } = await loadModel(folder, { precision, onProgress, cancelled });
    if (this.loaded === undefined || JSON.stringify(this.loaded.config) !== JSON.stringify(config)) {
      checkTables(config, folder);
      const engines = await Engines.create(withHalves(config, this.device), this.device);
      await this.close();
      this.loaded = {
        config,
        folder,
        base: snapshot,
        engines,
        snapshots: new Map(),
        training: undefined,
        kept: undefined,
        valueHead: undefined,
      };
    }
    this.loaded.folder = folder;
    this.loaded.base = snapshot;
    this.loaded.snapshots.set(snapshot, { model: parameters });
    return { snapshot, config, parameters: parameterCount(config) };
  }

  async loadSnapshot(path: string): Promise<string> {
    const loaded = this.model();
    if (await isAdapterFile(path)) {
      const stored = await loadAdapterFile(path, loaded.config);
      return this.holdAdapters(stored, stored.base ?? loaded.base);
    }
    if (this.device.precision === 'float16') {
      throw new C3Error(
        'model',
        `${path} holds all weights of a model, and a runtime with float16 loads adapters only; set device.precision: float32.`,
      );
    }
    const parameters = await loadParameters(loaded.config, path);
    const snapshot = snapshotId(loaded.config, parameters);
    loaded.snapshots.set(snapshot, { model: parameters });
    return snapshot;
  }

  snapshots(): Promise<readonly string[]> {
    return Promise.resolve([...(this.loaded?.snapshots.keys() ?? [])]);
  }

  async generate(
    snapshot: string,
    requests: readonly GenerationRequest[],
    { cancelled, onCompletion }: GenerationControl,
  ): Promise<Completion[]> {
    const held = this.held(snapshot);
    const completions: Completion[] = [];
    for (const { weights, settings, indices } of heldGroups(held, requests)) {
      const { generator } = await this.model().engines.of(settings);
      const answers = await generator.generate(
        weights,
        indices.flatMap((index) => requests[index] ?? []),
        { cancelled, onCompletion: (place, completion) => onCompletion?.(indices[place] ?? place, completion) },
      );
      answers.forEach((answer, place) => (completions[indices[place] ?? place] = answer));
    }
    return completions;
  }

  async score(
    snapshot: string,
    contexts: readonly TrainingContext[],
    temperature: number,
    cancelled: () => boolean,
  ): Promise<Float32Array[][]> {
    const held = this.held(snapshot);
    const scores: Float32Array[][] = [];
    for (const { weights, settings, indices } of heldGroups(held, contexts)) {
      const { trainer } = await this.model().engines.of(settings);
      const part = await trainer.score(
        weights,
        indices.flatMap((index) => contexts[index] ?? []),
        temperature,
        cancelled,
      );
      part.forEach((messages, place) => (scores[indices[place] ?? place] = messages));
    }
    return scores;
  }

  async beginTraining(snapshot: string, adapter?: AdapterStart): Promise<void> {
    const loaded = this.model();
    const { model, team } = this.held(snapshot);
    if (team !== undefined) {
      throw new C3Error(
        'model',
        `Snapshot ${snapshot.slice(0, 12)} has adapters; begin training from the model under them.`,
      );
    }
    await loaded.engines.forget();
    loaded.kept = undefined;
    loaded.valueHead = undefined;
    if (adapter === undefined) {
      loaded.training = new Map([[WHOLE_TEAM, initialState(trainable(model))]]);
    } else {
      const { settings, seed, agents = [WHOLE_TEAM] } = adapter;
      loaded.training = new Map(
        agents.map((agent) => [
          agent,
          initialState(initialAdapter(loaded.config, settings, seed, agent), { settings, base: snapshot, model }),
        ]),
      );
    }
  }

  async step(
    contexts: readonly TrainingContext[],
    settings: StepSettings,
    cancelled: () => boolean,
  ): Promise<StepReport> {
    const loaded = this.model();
    const training = this.trainingOf(contexts);
    const { trainer } = await loaded.engines.of(adapterOf(training)?.settings);
    const prepared = new Map<string, PreparedStep>();
    try {
      for (const [agent, state] of training) {
        const own = contexts.filter((context) => stateOf(training, context.agent) === agent);
        if (own.length > 0 || training.size === 1) {
          prepared.set(agent, await trainer.prepare(state, own, settings, cancelled));
        }
      }
    } catch (error) {
      for (const { discard } of prepared.values()) {
        discard();
      }
      throw error;
    }
    const results: StepResult[] = [];
    const next = new Map(training);
    for (const [agent, { apply }] of prepared) {
      const result = await apply();
      results.push(result);
      next.set(agent, result.state);
    }
    loaded.training = next;
    return together(results);
  }

  async values(states: readonly ValueState[], cancelled: () => boolean): Promise<number[]> {
    const { parameters } = this.valueHead();
    return (await this.trainedStates(states, cancelled)).map((hidden) => valueOf(parameters, hidden));
  }

  async valuesUnder(
    snapshot: string,
    head: string | null,
    states: readonly ValueState[],
    cancelled: () => boolean,
  ): Promise<number[]> {
    const { hiddenSize } = this.model().config;
    const groups = heldGroups(this.held(snapshot), states);
    const parameters =
      head === null ? initialValueHead(hiddenSize).parameters : await loadValueHeadFile(head, snapshot, hiddenSize);
    return (await this.lastStates(groups, states, cancelled)).map((hidden) => valueOf(parameters, hidden));
  }

  async learnValues(
    states: readonly ValueState[],
    examples: readonly ValueExample[],
    settings: ValueSettings,
    cancelled: () => boolean,
  ): Promise<number> {
    const { head, loss } = learnValueHead(
      this.valueHead(),
      await this.trainedStates(states, cancelled),
      examples,
      settings,
    );
    this.model().valueHead = head;
    return loss;
  }

  async keepTraining(): Promise<void> {
    this.model().kept = copyOfStates(await this.settled());
  }

  async revertTraining(share: number): Promise<void> {
    const loaded = this.model();
    if (loaded.kept === undefined) {
      throw new C3Error('model', 'No training state is kept to go back to; keep one first.');
    }
    const training = movedBack(loaded.kept, await this.settled(), share);
    await loaded.engines.forget();
    loaded.training = training;
  }

  async freeze(): Promise<string> {
    return Promise.resolve(this.frozen());
  }

  async saveCheckpoint(path: string): Promise<void> {
    await saveTrainingStates(await this.settled(), path, this.model().valueHead);
  }

  async loadCheckpoint(path: string): Promise<string> {
    const loaded = this.model();
    const training = await loadTrainingStates(loaded.config, path, (base) => this.baseModel(base));
    const valueHead = await loadValueHead(loaded.config, path);
    await loaded.engines.forget();
    loaded.kept = undefined;
    loaded.training = training;
    loaded.valueHead = valueHead;
    return this.freeze();
  }

  async saveSnapshot(snapshot: string, path: string): Promise<void> {
    const { config } = this.model();
    const { model, team } = this.held(snapshot);
    if (team === undefined) {
      await saveParameters(config, trainable(model), path);
    } else {
      await saveAdapterFile(path, config, team.origin, team.adapters);
    }
  }

  async saveValueHead(snapshot: string, path: string): Promise<void> {
    await saveValueHeadFile(path, snapshot, this.valueHead().parameters);
  }

  async hasAdapter(snapshot: string): Promise<boolean> {
    return Promise.resolve(this.held(snapshot).team !== undefined);
  }

  async saveAdapter(snapshot: string, folder: string, baseModel: string | null): Promise<readonly string[]> {
    const { config } = this.model();
    const { team } = this.held(snapshot);
    if (team === undefined) {
      throw new C3Error('model', `Snapshot ${snapshot.slice(0, 12)} has no adapter; save its weights instead.`);
    }
    return saveAdapters(folder, config, team.origin, team.adapters, baseModel);
  }

  async loadAdapter(folder: string, base: string): Promise<string> {
    const stored = await loadAdapters(folder, this.model().config);
    if (stored.base !== null && stored.base !== base) {
      throw new C3Error(
        'model',
        `${folder} was trained over the weights ${stored.base.slice(0, 12)}, not over ${base.slice(0, 12)}; load the model that it was trained over.`,
      );
    }
    return this.holdAdapters(stored, base);
  }

  releaseSnapshot(snapshot: string): Promise<void> {
    this.loaded?.snapshots.delete(snapshot);
    return Promise.resolve();
  }

  async close(): Promise<void> {
    const loaded = this.loaded;
    this.loaded = undefined;
    await loaded?.engines.release();
  }

  private frozen(): string {
    const training = this.training();
    const origin = adapterOf(training);
    const { config, snapshots } = this.model();
    const parameters = new Map([...training].map(([agent, state]) => [agent, state.parameters]));
    if (origin === undefined) {
      const model = parameters.get(WHOLE_TEAM) ?? new Float32Array();
      const snapshot = snapshotId(config, model);
      snapshots.set(snapshot, { model });
      return snapshot;
    }
    const { settings, base, model } = origin;
    return this.hold({ settings, base }, parameters, model);
  }

  private model(): Loaded {
    if (this.loaded === undefined) {
      throw new C3Error('model', 'No model is loaded; load a model folder first.');
    }
    return this.loaded;
  }

  private held(snapshot: string): Held {
    const held = this.model().snapshots.get(snapshot);
    if (held === undefined) {
      throw new C3Error('model', `Snapshot ${snapshot.slice(0, 12)} is not loaded; load its weights file first.`);
    }
    return held;
  }

  /** Adds the snapshot that adapters make of another one. */
  private async holdAdapters({ settings, adapters }: StoredAdapters, base: string): Promise<string> {
    return this.hold({ settings, base }, adapters, await this.baseModel(base));
  }

  private hold(origin: AdapterOrigin, adapters: ReadonlyMap<string, Float32Array>, model: ModelNumbers): string {
    const { config, snapshots } = this.model();
    const snapshot = adapterSnapshotId(config, origin, adapters);
    snapshots.set(snapshot, snapshot === origin.base ? { model } : { model, team: { origin, adapters } });
    return snapshot;
  }

  /**
   * The model under adapters: a snapshot that is held or stands under one, or the model folder's, which may have been
   * let go.
   */
  private async baseModel(base: string): Promise<ModelNumbers> {
    const loaded = this.model();
    const held =
      loaded.snapshots.get(base) ?? [...loaded.snapshots.values()].find(({ team }) => team?.origin.base === base);
    if (held !== undefined) {
      return held.model;
    }
    const training = loaded.training === undefined ? undefined : adapterOf(loaded.training);
    if (training?.base === base) {
      return training.model;
    }
    if (base === loaded.base) {
      const { parameters, snapshot } = await loadModel(loaded.folder, {
        precision: this.device.precision ?? 'float32',
      });
      if (snapshot === base) {
        return parameters;
      }
    }
    throw new C3Error(
      'model',
      `The adapter was trained over the weights ${base.slice(0, 12)}, which are not loaded; load the model that it was trained over first.`,
    );
  }

  private valueHead(): ValueHead {
    const { config, valueHead } = this.model();
    return valueHead ?? initialValueHead(config.hiddenSize);
  }

  private async trainedStates(states: readonly ValueState[], cancelled: () => boolean): Promise<Float32Array[]> {
    return this.lastStates(trainedGroups(this.trainingOf(states), states), states, cancelled);
  }

  /** The final hidden state of each state's last token. */
  private async lastStates(
    groups: readonly WeightsGroup[],
    states: readonly ValueState[],
    cancelled: () => boolean,
  ): Promise<Float32Array[]> {
    const found: Float32Array[] = [];
    for (const { weights, settings, indices } of groups) {
      const { trainer } = await this.model().engines.of(settings);
      const hidden = await trainer.lastStates(
        weights,
        indices.map((index) => states[index]?.tokens ?? new Int32Array()),
        cancelled,
      );
      hidden.forEach((one, place) => (found[indices[place] ?? place] = one));
    }
    return found;
  }

  /** The training, which must have something for every agent. */
  private trainingOf(items: readonly { readonly agent?: string }[]): TrainingStates {
    const training = this.training();
    const stranger = items.find(({ agent }) => !training.has(stateOf(training, agent)));
    if (stranger !== undefined) {
      throw new C3Error(
        'model',
        `Nothing is trained for the agent ${JSON.stringify(stranger.agent ?? '')}; begin training with an adapter for it.`,
      );
    }
    return training;
  }

  /** The training with its moments in ordinary memory. */
  private async settled(): Promise<TrainingStates> {
    const training = this.training();
    const { trainer } = await this.model().engines.of(adapterOf(training)?.settings);
    for (const state of training.values()) {
      await trainer.settle(state);
    }
    return training;
  }

  private training(): TrainingStates {
    const { training } = this.model();
    if (training === undefined) {
      throw new C3Error('model', 'No training was begun; begin it from a snapshot first.');
    }
    return training;
  }
}

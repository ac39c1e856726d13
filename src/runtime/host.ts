/** Models, snapshots and the training state of one runtime: what the worker thread holds. */
import type { NumericEnvironment } from '../shared/records.ts';
import { C3Error } from '../shared/errors.ts';
import { loadTrainingState, saveTrainingState } from './checkpoint.ts';
import { DeviceWeights } from './deviceWeights.ts';
import { Generator, type Completion, type GenerationControl, type GenerationRequest } from './generate.ts';
import type { OnLoadProgress } from './huggingFaceWeights.ts';
import { adapterSnapshotId, initialAdapter, type AdapterOrigin, type AdapterSettings } from './lora.ts';
import { isAdapterFile, loadAdapter, loadAdapterFile, saveAdapter, saveAdapterFile, type StoredAdapter } from './loraFolder.ts';
import { AdapterMerge } from './loraGraph.ts';
import { loadModel, loadParameters, parameterCount, saveParameters, snapshotId } from './model.ts';
import type { TrainingContext } from './pack.ts';
import { numericEnvironment, type DeviceSettings } from './session.ts';
import { initialState, Trainer, type StepResult, type StepSettings, type TrainingState } from './trainer.ts';
import type { TransformerConfig } from './transformer.ts';

export interface ModelInfo {
  /** Name of the weights that were loaded. */
  readonly snapshot: string;
  readonly config: TransformerConfig;
  readonly parameters: number;
}

/** What an optimiser step showed; the state itself stays in the runtime. */
export type StepReport = Omit<StepResult, 'state'>;

/** A fresh adapter to train. */
export interface AdapterStart {
  readonly settings: AdapterSettings;
  /** From which its first values are drawn. */
  readonly seed: number;
}

/** Everything that needs weights. Snapshots are named by the hash of their weights and stay until they are released. */
export interface ModelRuntime {
  readonly environment: NumericEnvironment;
  /**
   * Loads a model folder; its weights become a snapshot. One architecture at a time: another folder replaces everything.
   * @param onProgress told how many bytes of the weights' files have been read, never less than before, in the end all of them; about ten times a second
   * @param cancelled asked meanwhile; cancelled or failed, what was loaded before stays
   */
  load(folder: string, onProgress?: OnLoadProgress, cancelled?: () => boolean): Promise<ModelInfo>;
  /** Adds a snapshot of the loaded architecture from a file that `saveSnapshot` wrote and returns its name; an adapter's needs its base loaded. */
  loadSnapshot(path: string): Promise<string>;
  /** Names of the snapshots that are held. */
  snapshots(): Promise<readonly string[]>;
  generate(snapshot: string, requests: readonly GenerationRequest[], control: GenerationControl): Promise<Completion[]>;
  /** Log-probabilities of every message token, per context and message, at a temperature. */
  score(snapshot: string, contexts: readonly TrainingContext[], temperature: number, cancelled: () => boolean): Promise<Float32Array[][]>;
  /** Starts training from a snapshot with a fresh optimiser: all parameters, or an adapter over them. */
  beginTraining(snapshot: string, adapter?: AdapterStart): Promise<void>;
  /** One optimiser step; cancelled or failed, the training state is as before. */
  step(contexts: readonly TrainingContext[], settings: StepSettings, cancelled: () => boolean): Promise<StepReport>;
  /** Freezes the trained parameters as a snapshot and returns its name. */
  freeze(): Promise<string>;
  /** Writes the training state with its optimiser, whole or not at all. */
  saveCheckpoint(path: string): Promise<void>;
  /** Goes back to a written training state; its parameters become a snapshot, whose name is returned. */
  loadCheckpoint(path: string): Promise<string>;
  /** Writes a snapshot as float32 safetensors; of an adapter's, only the adapter. */
  saveSnapshot(snapshot: string, path: string): Promise<void>;
  /** Writes an adapter's snapshot as a folder in PEFT's layout. @param baseModel what others shall load it over */
  saveAdapter(snapshot: string, folder: string, baseModel: string | null): Promise<void>;
  /** Adds the snapshot that a folder in PEFT's layout makes of another one and returns its name. */
  loadAdapter(folder: string, base: string): Promise<string>;
  releaseSnapshot(snapshot: string): Promise<void>;
  close(): Promise<void>;
}

/** The adapter of a snapshot, whose whole weights stand beside it. */
interface HeldAdapter {
  readonly origin: AdapterOrigin;
  readonly parameters: Float32Array;
}

interface Loaded {
  readonly config: TransformerConfig;
  /** Where the weights of `base` can be read again. */
  folder: string;
  base: string;
  readonly weights: DeviceWeights;
  readonly generator: Generator;
  readonly trainer: Trainer;
  readonly snapshots: Map<string, Float32Array>;
  readonly adapters: Map<string, HeldAdapter>;
  /** Trains the last adapter; `trainer` does everything else. */
  adapterTrainer: { readonly origin: AdapterOrigin; readonly trainer: Trainer } | undefined;
  training: TrainingState | undefined;
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
    const { config, parameters, snapshot } = await loadModel(folder, onProgress, cancelled);
    if (this.loaded === undefined || JSON.stringify(this.loaded.config) !== JSON.stringify(config)) {
      const weights = new DeviceWeights(config, this.device);
      const generator = await Generator.create(config, this.device, weights);
      await this.close();
      const trainer = new Trainer(config, this.device, weights);
      this.loaded = { config, folder, base: snapshot, weights, generator, trainer, snapshots: new Map(), adapters: new Map(), adapterTrainer: undefined, training: undefined };
    }
    this.loaded.folder = folder;
    this.loaded.base = snapshot;
    this.loaded.snapshots.set(snapshot, parameters);
    return { snapshot, config, parameters: parameterCount(config) };
  }

  async loadSnapshot(path: string): Promise<string> {
    const loaded = this.model();
    if (await isAdapterFile(path)) {
      const stored = await loadAdapterFile(path, loaded.config);
      return this.holdAdapter(stored, stored.base ?? loaded.base);
    }
    const parameters = await loadParameters(loaded.config, path);
    const snapshot = snapshotId(loaded.config, parameters);
    loaded.snapshots.set(snapshot, parameters);
    return snapshot;
  }

  snapshots(): Promise<readonly string[]> {
    return Promise.resolve([...(this.loaded?.snapshots.keys() ?? [])]);
  }

  async generate(snapshot: string, requests: readonly GenerationRequest[], control: GenerationControl): Promise<Completion[]> {
    return this.model().generator.generate(this.weights(snapshot), requests, control);
  }

  async score(snapshot: string, contexts: readonly TrainingContext[], temperature: number, cancelled: () => boolean): Promise<Float32Array[][]> {
    return this.model().trainer.score(this.weights(snapshot), contexts, temperature, cancelled);
  }

  beginTraining(snapshot: string, adapter?: AdapterStart): Promise<void> {
    const loaded = this.model();
    const weights = this.weights(snapshot);
    loaded.training =
      adapter === undefined ? initialState(weights) : initialState(initialAdapter(loaded.config, adapter.settings, adapter.seed), { settings: adapter.settings, base: snapshot });
    return Promise.resolve();
  }

  async step(contexts: readonly TrainingContext[], settings: StepSettings, cancelled: () => boolean): Promise<StepReport> {
    const loaded = this.model();
    const { state, ...report } = await (await this.trainerOf(this.training())).step(this.training(), contexts, settings, cancelled);
    loaded.training = state;
    return report;
  }

  async freeze(): Promise<string> {
    const state = this.training();
    const { adapter: origin, parameters } = state;
    const { config, snapshots, adapters } = this.model();
    const snapshot = origin === undefined ? snapshotId(config, parameters) : adapterSnapshotId(config, origin, parameters);
    snapshots.set(snapshot, await (await this.trainerOf(state)).parametersOf(state));
    if (origin !== undefined && snapshot !== origin.base) adapters.set(snapshot, { origin, parameters });
    return snapshot;
  }

  async saveCheckpoint(path: string): Promise<void> {
    const state = this.training();
    await (await this.trainerOf(state)).settle(state);
    await saveTrainingState(state, path);
  }

  async loadCheckpoint(path: string): Promise<string> {
    const loaded = this.model();
    const state = await loadTrainingState(loaded.config, path);
    // Its base must be there before anything changes.
    await this.trainerOf(state);
    loaded.training = state;
    return this.freeze();
  }

  async saveSnapshot(snapshot: string, path: string): Promise<void> {
    const { config, adapters } = this.model();
    const adapter = adapters.get(snapshot);
    if (adapter === undefined) await saveParameters(config, this.weights(snapshot), path);
    else await saveAdapterFile(path, config, adapter.origin, adapter.parameters);
  }

  async saveAdapter(snapshot: string, folder: string, baseModel: string | null): Promise<void> {
    const { config, adapters } = this.model();
    const adapter = adapters.get(snapshot);
    if (adapter === undefined) throw new C3Error('model', `Snapshot ${snapshot.slice(0, 12)} has no adapter; save its weights instead.`);
    await saveAdapter(folder, config, adapter.origin, adapter.parameters, baseModel);
  }

  async loadAdapter(folder: string, base: string): Promise<string> {
    const stored = await loadAdapter(folder, this.model().config);
    if (stored.base !== null && stored.base !== base) {
      throw new C3Error('model', `${folder} was trained over the weights ${stored.base.slice(0, 12)}, not over ${base.slice(0, 12)}; load the model that it was trained over.`);
    }
    return this.holdAdapter(stored, base);
  }

  releaseSnapshot(snapshot: string): Promise<void> {
    this.loaded?.snapshots.delete(snapshot);
    this.loaded?.adapters.delete(snapshot);
    return Promise.resolve();
  }

  async close(): Promise<void> {
    const loaded = this.loaded;
    this.loaded = undefined;
    await loaded?.generator.release();
    await loaded?.adapterTrainer?.trainer.release();
    await loaded?.trainer.release();
    await loaded?.weights.release();
  }

  private model(): Loaded {
    if (this.loaded === undefined) throw new C3Error('model', 'No model is loaded; load a model folder first.');
    return this.loaded;
  }

  private weights(snapshot: string): Float32Array {
    const weights = this.model().snapshots.get(snapshot);
    if (weights === undefined) throw new C3Error('model', `Snapshot ${snapshot.slice(0, 12)} is not loaded; load its weights file first.`);
    return weights;
  }

  /** Makes a snapshot of an adapter over another one. */
  private async holdAdapter({ settings, parameters }: StoredAdapter, base: string): Promise<string> {
    const { config, snapshots, adapters } = this.model();
    const origin = { settings, base };
    const snapshot = adapterSnapshotId(config, origin, parameters);
    const baseWeights = await this.baseWeights(base);
    const merge = await AdapterMerge.create(config, settings, this.device);
    try {
      snapshots.set(snapshot, snapshot === base ? baseWeights : await merge.weights(baseWeights, parameters));
    } finally {
      await merge.release();
    }
    if (snapshot !== base) adapters.set(snapshot, { origin, parameters });
    return snapshot;
  }

  /** The weights under an adapter: a snapshot that is held, or the model folder's, which may have been let go. */
  private async baseWeights(base: string): Promise<Float32Array> {
    const loaded = this.model();
    const held = loaded.snapshots.get(base);
    if (held !== undefined) return held;
    if (base === loaded.base) {
      const { parameters, snapshot } = await loadModel(loaded.folder);
      if (snapshot === base) return parameters;
    }
    throw new C3Error('model', `The adapter was trained over the weights ${base.slice(0, 12)}, which are not loaded; load the model that it was trained over first.`);
  }

  /** What takes the steps of a state: one trainer for each adapter, the last of which stays. */
  private async trainerOf({ adapter: origin }: TrainingState): Promise<Trainer> {
    const loaded = this.model();
    if (origin === undefined) return loaded.trainer;
    const known = loaded.adapterTrainer;
    if (known !== undefined && JSON.stringify(known.origin) === JSON.stringify(origin)) return known.trainer;
    const parameters = await this.baseWeights(origin.base);
    await known?.trainer.release();
    const trainer = new Trainer(loaded.config, this.device, loaded.weights, { settings: origin.settings, parameters });
    loaded.adapterTrainer = { origin, trainer };
    return trainer;
  }

  private training(): TrainingState {
    const { training } = this.model();
    if (training === undefined) throw new C3Error('model', 'No training was begun; begin it from a snapshot first.');
    return training;
  }
}

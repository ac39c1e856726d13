/** Models, snapshots and the training state of one runtime: what the worker thread holds. */
import type { NumericEnvironment } from '../shared/records.ts';
import { C3Error } from '../shared/errors.ts';
import { loadTrainingState, saveTrainingState } from './checkpoint.ts';
import { DeviceWeights } from './deviceWeights.ts';
import { Generator, type Completion, type GenerationControl, type GenerationRequest } from './generate.ts';
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

/** Everything that needs weights. Snapshots are named by the hash of their weights and stay until they are released. */
export interface ModelRuntime {
  readonly environment: NumericEnvironment;
  /** Loads a model folder; its weights become a snapshot. One architecture at a time: another folder replaces everything. */
  load(folder: string): Promise<ModelInfo>;
  /** Adds a snapshot of the loaded architecture from a weights file and returns its name. */
  loadSnapshot(path: string): Promise<string>;
  /** Names of the snapshots that are held. */
  snapshots(): Promise<readonly string[]>;
  generate(snapshot: string, requests: readonly GenerationRequest[], control: GenerationControl): Promise<Completion[]>;
  /** Log-probabilities of every message token, per context and message, at a temperature. */
  score(snapshot: string, contexts: readonly TrainingContext[], temperature: number, cancelled: () => boolean): Promise<Float32Array[][]>;
  /** Starts training from a snapshot with a fresh optimiser. */
  beginTraining(snapshot: string): Promise<void>;
  /** One optimiser step; cancelled or failed, the training state is as before. */
  step(contexts: readonly TrainingContext[], settings: StepSettings, cancelled: () => boolean): Promise<StepReport>;
  /** Freezes the trained parameters as a snapshot and returns its name. */
  freeze(): Promise<string>;
  /** Writes the training state with its optimiser, whole or not at all. */
  saveCheckpoint(path: string): Promise<void>;
  /** Goes back to a written training state; its parameters become a snapshot, whose name is returned. */
  loadCheckpoint(path: string): Promise<string>;
  /** Writes a snapshot as float32 safetensors. */
  saveSnapshot(snapshot: string, path: string): Promise<void>;
  releaseSnapshot(snapshot: string): Promise<void>;
  close(): Promise<void>;
}

interface Loaded {
  readonly config: TransformerConfig;
  readonly weights: DeviceWeights;
  readonly generator: Generator;
  readonly trainer: Trainer;
  readonly snapshots: Map<string, Float32Array>;
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

  async load(folder: string): Promise<ModelInfo> {
    const { config, parameters } = await loadModel(folder);
    const snapshot = snapshotId(config, parameters);
    if (this.loaded === undefined || JSON.stringify(this.loaded.config) !== JSON.stringify(config)) {
      const weights = new DeviceWeights(config, this.device);
      const generator = await Generator.create(config, this.device, weights);
      await this.close();
      this.loaded = { config, weights, generator, trainer: new Trainer(config, this.device, weights), snapshots: new Map(), training: undefined };
    }
    this.loaded.snapshots.set(snapshot, parameters);
    return { snapshot, config, parameters: parameterCount(config) };
  }

  async loadSnapshot(path: string): Promise<string> {
    const loaded = this.model();
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

  beginTraining(snapshot: string): Promise<void> {
    this.model().training = initialState(this.weights(snapshot));
    return Promise.resolve();
  }

  async step(contexts: readonly TrainingContext[], settings: StepSettings, cancelled: () => boolean): Promise<StepReport> {
    const loaded = this.model();
    const { state, ...report } = await loaded.trainer.step(this.training(), contexts, settings, cancelled);
    loaded.training = state;
    return report;
  }

  freeze(): Promise<string> {
    const { parameters } = this.training();
    const loaded = this.model();
    const snapshot = snapshotId(loaded.config, parameters);
    loaded.snapshots.set(snapshot, parameters);
    return Promise.resolve(snapshot);
  }

  async saveCheckpoint(path: string): Promise<void> {
    const state = this.training();
    await this.model().trainer.settle(state);
    await saveTrainingState(state, path);
  }

  async loadCheckpoint(path: string): Promise<string> {
    const loaded = this.model();
    loaded.training = await loadTrainingState(loaded.config, path);
    return this.freeze();
  }

  async saveSnapshot(snapshot: string, path: string): Promise<void> {
    await saveParameters(this.model().config, this.weights(snapshot), path);
  }

  releaseSnapshot(snapshot: string): Promise<void> {
    this.loaded?.snapshots.delete(snapshot);
    return Promise.resolve();
  }

  async close(): Promise<void> {
    const loaded = this.loaded;
    this.loaded = undefined;
    await loaded?.generator.release();
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

  private training(): TrainingState {
    const { training } = this.model();
    if (training === undefined) throw new C3Error('model', 'No training was begun; begin it from a snapshot first.');
    return training;
  }
}

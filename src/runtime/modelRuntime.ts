/** The interface of the runtime to the weights of models, independent of its thread. */

import type { NumericEnvironment } from '../domain/snapshot.ts';
import type { RankShift } from '../domain/step.ts';
import type { OnLoadProgress } from './files/huggingFaceWeights.ts';
import type { Completion, GenerationControl, GenerationRequest } from './generate/generate.ts';
import type { AdapterSettings, TransformerConfig } from './model/transformer.ts';
import type { TrainingContext } from './train/graph/pack.ts';
import type { StepReport } from './train/stepReport.ts';
import type { StepSettings } from './train/trainingState.ts';
import type { ValueExample, ValueReport, ValueSettings, ValueState } from './train/valueHead.ts';

export interface ModelInfo {
  /** Name of the weights that were loaded. */
  readonly snapshot: string;
  readonly config: TransformerConfig;
  readonly parameters: number;
}

/** Fresh adapters to train. */
export interface AdapterStart {
  readonly settings: AdapterSettings;
  /** Roles that get an adapter of their own. Without it, the whole team shares one. */
  readonly roles?: readonly string[];
  /** Seed of the initial values. */
  readonly seed: number;
}

/** A generation that can be cancelled from another thread. */
export interface RuntimeControl extends GenerationControl {
  readonly signal: AbortSignal;
}

/**
 * All operations that need weights. Snapshots are named by the hash of their weights and stay until
 * they are released.
 */
export interface ModelRuntime {
  readonly environment: NumericEnvironment;
  /**
   * Loads a model folder and adds its weights as a snapshot. Only one architecture is loaded at a time:
   * another one replaces everything.
   * @param onProgress receives the bytes read so far from the weights files, about ten times a second;
   *   they never decrease, and the last report is the total
   * @param signal read during loading; if loading is cancelled or fails, the previous model stays
   */
  load(folder: string, onProgress?: OnLoadProgress, signal?: AbortSignal): Promise<ModelInfo>;
  /**
   * Adds a snapshot of the loaded architecture from a file that `saveSnapshot` wrote and returns its
   * name. A snapshot with adapters needs its base loaded.
   */
  loadSnapshot(path: string): Promise<string>;
  /**
   * Limits the key-value cache of a call, and thereby the number of messages that are decoded together.
   * It changes no message.
   * @param bytes default LEAST_CACHE_BYTES
   */
  boundCache(bytes: number): Promise<void>;
  snapshots(): Promise<readonly string[]>;
  generate(snapshot: string, requests: readonly GenerationRequest[], control: RuntimeControl): Promise<Completion[]>;
  /** Returns the log-probabilities of every message token, per context and message, at a temperature. */
  score(
    snapshot: string,
    contexts: readonly TrainingContext[],
    temperature: number,
    signal: AbortSignal,
  ): Promise<Float32Array[][]>;
  /**
   * Returns KL(snapshot || other) over the whole vocabulary at every message token, per context and
   * message, at a temperature.
   * @throws C3Error('input') if the vocabulary is too large
   */
  divergence(
    snapshot: string,
    other: string,
    contexts: readonly TrainingContext[],
    temperature: number,
    signal: AbortSignal,
  ): Promise<Float32Array[][]>;
  /**
   * Returns the probabilities of tokens by their rank under one snapshot, and the probabilities of the
   * same tokens under another: means over all message tokens at a temperature.
   * @throws C3Error('input') if the vocabulary is too large
   */
  rankShift(
    snapshot: string,
    other: string,
    contexts: readonly TrainingContext[],
    temperature: number,
    signal: AbortSignal,
  ): Promise<RankShift>;
  /**
   * Starts training from a snapshot with a new optimizer: all parameters, or adapters over them.
   * Adapters continue from those of the snapshot if it has any. The value head starts at 0.
   * @throws C3Error('model') if the snapshot has adapters and `adapter` is missing or has other settings
   */
  beginTraining(snapshot: string, adapter?: AdapterStart): Promise<void>;
  /**
   * Does one optimizer step of each role's adapter on that role's contexts. If it is cancelled or fails,
   * the training state does not change.
   */
  step(contexts: readonly TrainingContext[], settings: StepSettings, signal: AbortSignal): Promise<StepReport>;
  /** Returns the values of states from the value head, under the policy in training. */
  values(states: readonly ValueState[], signal: AbortSignal): Promise<number[]>;
  /**
   * Returns the values of states from a saved value head, under the policy of its snapshot.
   * @param head a file that `saveValueHead` wrote; null gives 0 for every state
   */
  valuesUnder(
    snapshot: string,
    head: string | null,
    states: readonly ValueState[],
    signal: AbortSignal,
  ): Promise<number[]>;
  /**
   * Trains the value head on examples. An advantage is relative to the current value of its state. The
   * policy does not change.
   * @returns a report on the head before training; if it is cancelled or fails, the head does not change
   */
  learnValues(
    states: readonly ValueState[],
    examples: readonly ValueExample[],
    settings: ValueSettings,
    signal: AbortSignal,
  ): Promise<ValueReport>;
  /**
   * Keeps a copy of the current training state with its optimizer, in place of an earlier copy. The
   * value head is not part of it.
   */
  keepTraining(): Promise<void>;
  /**
   * Goes back to the kept state. A share of 0 restores it whole, with its optimizer. Otherwise each
   * parameter becomes kept + share * (now - kept), with the current optimizer. The copy stays kept.
   */
  revertTraining(share: number): Promise<void>;
  /** Freezes the trained parameters as a snapshot and returns its name. */
  freeze(): Promise<string>;
  /** Writes the training state with its optimizer and the value head, whole or not at all. */
  saveCheckpoint(path: string): Promise<void>;
  /** Restores a saved training state, adds its parameters as a snapshot and returns its name. */
  loadCheckpoint(path: string): Promise<string>;
  /** Writes a snapshot as float32 safetensors. If it has adapters, only these are written. */
  saveSnapshot(snapshot: string, path: string): Promise<void>;
  /** Writes the value head of the training for the snapshot that was frozen with it. */
  saveValueHead(snapshot: string, path: string): Promise<void>;
  hasAdapter(snapshot: string): Promise<boolean>;
  /**
   * Writes the adapters of a snapshot in PEFT's layout and returns their folders.
   * @param baseModel name of the base model for other programs
   */
  saveAdapter(snapshot: string, folder: string, baseModel: string | null): Promise<readonly string[]>;
  /** Adds the snapshot of an adapter folder in PEFT's layout over another snapshot and returns its name. */
  loadAdapter(folder: string, base: string): Promise<string>;
  releaseSnapshot(snapshot: string): Promise<void>;
  close(): Promise<void>;
}

export type RuntimeMethod = Exclude<keyof ModelRuntime, 'environment'>;

/** The kind of arguments that follow the data of a call: none, a cancel signal, or also callbacks. */
type Followed<Name extends RuntimeMethod> = Name extends 'load'
  ? 'loading'
  : Parameters<ModelRuntime[Name]> extends [...unknown[], AbortSignal]
    ? 'signal'
    : Parameters<ModelRuntime[Name]> extends [...unknown[], RuntimeControl]
      ? 'control'
      : 'nothing';

/**
 * For each call, the number of its arguments that are data, and the arguments that follow them.
 * Another thread needs no more to forward a call.
 */
export const RUNTIME_CALLS: {
  readonly [Name in RuntimeMethod]: { readonly data: number; readonly then: Followed<Name> };
} = {
  load: { data: 1, then: 'loading' },
  loadSnapshot: { data: 1, then: 'nothing' },
  boundCache: { data: 1, then: 'nothing' },
  snapshots: { data: 0, then: 'nothing' },
  generate: { data: 2, then: 'control' },
  score: { data: 3, then: 'signal' },
  divergence: { data: 4, then: 'signal' },
  rankShift: { data: 4, then: 'signal' },
  beginTraining: { data: 2, then: 'nothing' },
  step: { data: 2, then: 'signal' },
  values: { data: 1, then: 'signal' },
  valuesUnder: { data: 3, then: 'signal' },
  learnValues: { data: 3, then: 'signal' },
  keepTraining: { data: 0, then: 'nothing' },
  revertTraining: { data: 1, then: 'nothing' },
  freeze: { data: 0, then: 'nothing' },
  saveCheckpoint: { data: 1, then: 'nothing' },
  loadCheckpoint: { data: 1, then: 'nothing' },
  saveSnapshot: { data: 2, then: 'nothing' },
  saveValueHead: { data: 2, then: 'nothing' },
  hasAdapter: { data: 1, then: 'nothing' },
  saveAdapter: { data: 3, then: 'nothing' },
  loadAdapter: { data: 2, then: 'nothing' },
  releaseSnapshot: { data: 1, then: 'nothing' },
  close: { data: 0, then: 'nothing' },
};

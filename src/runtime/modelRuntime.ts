/** What can be done with the weights of models: the interface of the runtime, whatever thread it runs in. */
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
  /** Roles that get one of their own; left out: one for the whole team. */
  readonly roles?: readonly string[];
  /** From which their first values are drawn. */
  readonly seed: number;
}

/** A generation that can be cancelled from another thread. */
export interface RuntimeControl extends GenerationControl {
  readonly signal: AbortSignal;
}

/** Everything that needs weights. Snapshots are named by the hash of their weights and stay until they are released. */
export interface ModelRuntime {
  readonly environment: NumericEnvironment;
  /**
   * Loads a model folder; its weights become a snapshot. One architecture at a time: another folder replaces
   * everything.
   * @param onProgress gets how many bytes of the weights' files have been read, never less than before, in the end all
   *   of them; about ten times a second
   * @param signal looked at meanwhile; cancelled or failed, what was loaded before stays
   */
  load(folder: string, onProgress?: OnLoadProgress, signal?: AbortSignal): Promise<ModelInfo>;
  /**
   * Adds a snapshot of the loaded architecture from a file that `saveSnapshot` wrote and returns its name; an adapter's
   * needs its base loaded.
   */
  loadSnapshot(path: string): Promise<string>;
  /**
   * Bounds the key-value cache of a call, and so how many messages are decoded together, which changes none of them.
   * @param bytes LEAST_CACHE_BYTES until it is called
   */
  boundCache(bytes: number): Promise<void>;
  /** Names of the snapshots that are held. */
  snapshots(): Promise<readonly string[]>;
  generate(snapshot: string, requests: readonly GenerationRequest[], control: RuntimeControl): Promise<Completion[]>;
  /** Log-probabilities of every message token, per context and message, at a temperature. */
  score(
    snapshot: string,
    contexts: readonly TrainingContext[],
    temperature: number,
    signal: AbortSignal,
  ): Promise<Float32Array[][]>;
  /**
   * KL(one snapshot || another) over the whole vocabulary at every message token, per context and message, at a
   * temperature.
   * @throws C3Error('input') where the vocabulary is too large for that
   */
  divergence(
    snapshot: string,
    other: string,
    contexts: readonly TrainingContext[],
    temperature: number,
    signal: AbortSignal,
  ): Promise<Float32Array[][]>;
  /**
   * Probabilities of tokens by their rank under one snapshot, and what another one gives the same tokens: means over
   * all message tokens at a temperature.
   * @throws C3Error('input') where the vocabulary is too large for that
   */
  rankShift(
    snapshot: string,
    other: string,
    contexts: readonly TrainingContext[],
    temperature: number,
    signal: AbortSignal,
  ): Promise<RankShift>;
  /**
   * Starts training from a snapshot with a fresh optimiser: all parameters, or adapters over them, which go on from
   * those that the snapshot has. The value head begins at 0.
   * @throws C3Error('model') where the snapshot has adapters of other settings, or has some and none are to be trained
   */
  beginTraining(snapshot: string, adapter?: AdapterStart): Promise<void>;
  /**
   * One optimiser step, of each role's adapter on that role's contexts; cancelled or failed, the training state is as
   * before.
   */
  step(contexts: readonly TrainingContext[], settings: StepSettings, signal: AbortSignal): Promise<StepReport>;
  /** What the value head says of states, as the policy in training sees them. */
  values(states: readonly ValueState[], signal: AbortSignal): Promise<number[]>;
  /**
   * What a kept value head says of states, as the policy of its snapshot sees them.
   * @param head a file that `saveValueHead` wrote; null values everything at 0
   */
  valuesUnder(
    snapshot: string,
    head: string | null,
    states: readonly ValueState[],
    signal: AbortSignal,
  ): Promise<number[]>;
  /**
   * Lets the value head learn from what followed states: an advantage is one over the value that it gives them now. The
   * policy stays as it is.
   * @returns what the head was worth before; cancelled or failed, it is as before
   */
  learnValues(
    states: readonly ValueState[],
    examples: readonly ValueExample[],
    settings: ValueSettings,
    signal: AbortSignal,
  ): Promise<ValueReport>;
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

/** A call of the runtime by its name. */
export type RuntimeMethod = Exclude<keyof ModelRuntime, 'environment'>;

/** What follows the arguments of a call that are data: nothing, its cancel, or also who hears of it meanwhile. */
type Followed<Name extends RuntimeMethod> = Name extends 'load'
  ? 'loading'
  : Parameters<ModelRuntime[Name]> extends [...unknown[], AbortSignal]
    ? 'signal'
    : Parameters<ModelRuntime[Name]> extends [...unknown[], RuntimeControl]
      ? 'control'
      : 'nothing';

/** All that another thread has to know of each call: how many of its arguments are data, and what follows them. */
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

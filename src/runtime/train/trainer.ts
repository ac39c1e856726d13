/** Scoring and optimiser steps over packed contexts; gradients of micro-batches add up inside the graph. */
import type { Tensor } from 'onnxruntime-node';
import { C3Error, CancelledError } from '../../shared/errors.ts';
import { adamwStep, gradientNorm } from './adamw.ts';
import { exactThreads } from '../model/exactThreads.ts';
import type { Graph } from '../graph/graph.ts';
import { found, type Held } from '../session/deviceMemory.ts';
import { disposeAll } from '../session/deviceTensor.ts';
import { DeviceWeights } from '../model/deviceWeights.ts';
import type { AdapterOrigin, PolicyWeights } from '../model/lora.ts';
import { consecutiveViews, viewFeeds, type ModelNumbers, type ParameterView } from '../model/model.ts';
import { checkContexts, headChunks, memberFeeds, packContexts, type MicroBatch, type TrainingContext } from './pack.ts';
import {
  floatData,
  floats,
  keepsOutputs,
  Session,
  type DeviceSettings,
  type Feeds,
  type Outputs,
} from '../session/session.ts';
import {
  accumulatedName,
  ADAMW,
  buildGradientGraph,
  buildScoreGraph,
  buildStateGraph,
  buildUpdateGraph,
  gradientName,
  momentumName,
  updatedName,
  varianceName,
  type LossKind,
  type PolicyLoss,
} from './trainingGraph.ts';
import { trainedSpecs, type TransformerConfig } from '../model/transformer.ts';

/** What an adapter is trained over: a model that stays as it is. */
export interface AdapterBase extends AdapterOrigin {
  readonly model: ModelNumbers;
}

/** Everything an optimiser step changes. */
export interface TrainingState {
  /** Whose parameters these are; left out: the whole model's. */
  readonly adapter?: AdapterBase;
  readonly parameters: Float32Array;
  readonly momentum: Float32Array;
  readonly variance: Float32Array;
  /** Optimiser steps taken. */
  readonly step: number;
}

export interface StepSettings {
  readonly loss: LossKind;
  readonly learningRate: number;
  readonly temperature: number;
  /** Weight of the k3 term; unused for supervised training. */
  readonly klCoefficient: number;
  /** What PPO clips; unused for supervised training. */
  readonly policy?: PolicyLoss;
  /** Computes activations again in the backward pass instead of keeping them; on the CPU every bit stays as it is. */
  readonly recompute?: boolean;
  /** Input slots of one micro-batch; MICRO_BATCH_TOKENS unless given. */
  readonly microBatchTokens?: number;
}

export interface StepResult {
  readonly state: TrainingState;
  readonly loss: number;
  /** Mean k3 per token; 0 for supervised training. */
  readonly kl: number;
  /** Share of tokens whose ratio left [1 - eps, 1 + eps]. */
  readonly clipFraction: number;
  /** Largest |ratio - 1|. */
  readonly ratioDeviation: number;
  readonly gradientNorm: number;
  /** Tokens that the loss counts. */
  readonly tokens: number;
  /** Share of the input slots that held padding. */
  readonly padding: number;
}

/** Input slots of one micro-batch: small enough that a cancel is honoured within 200 ms for the bundled model. */
export const MICRO_BATCH_TOKENS = 2048;

export const initialState = (parameters: Float32Array, adapter?: AdapterBase): TrainingState => ({
  ...(adapter !== undefined && { adapter }),
  parameters,
  momentum: new Float32Array(parameters.length),
  variance: new Float32Array(parameters.length),
  step: 0,
});

/** What a policy in training computes with. */
export const weightsOf = ({ adapter, parameters }: TrainingState): PolicyWeights =>
  adapter === undefined ? parameters : { model: adapter.model, adapter: parameters };

/** A step whose gradients are computed and whose update is not made yet. Exactly one of the two follows. */
export interface PreparedStep {
  readonly apply: () => Promise<StepResult>;
  readonly discard: () => void;
}

/** Compiled training graphs of one architecture, made when first needed. */
export class Trainer {
  private readonly config: TransformerConfig;
  private readonly device: DeviceSettings;
  private readonly weights: DeviceWeights;
  /** The layout of what is trained. */
  private readonly views: readonly ParameterView[];
  private readonly ownsWeights: boolean;
  private readonly sessions = new Map<string, Promise<Session>>();
  private nothing: Held | undefined;
  /** The moments of the states that steps returned, where they are not in their arrays yet. */
  private readonly moments = new Map<TrainingState, Held>();

  /**
   * @param config with an adapter, only that is trained
   * @param weights parameters on the device, where a generator shares them; whoever made them releases them, after this
   */
  constructor(config: TransformerConfig, device: DeviceSettings, weights?: DeviceWeights) {
    this.config = config;
    this.device = device;
    this.weights = weights ?? new DeviceWeights(config, device);
    this.ownsWeights = weights === undefined;
    this.views = consecutiveViews(trainedSpecs(config));
  }

  /**
   * Log-probabilities of every message token, per context and message.
   * @throws C3Error('input') when a context cannot be scored; CancelledError between micro-batches
   */
  async score(
    policy: PolicyWeights,
    contexts: readonly TrainingContext[],
    temperature: number,
    cancelled: () => boolean,
  ): Promise<Float32Array[][]> {
    checkContexts(this.config, contexts);
    const weights = await this.weights.of(policy);
    const result: Float32Array[][] = contexts.map(() => []);
    for (const batch of packContexts(this.config, contexts, MICRO_BATCH_TOKENS, 0)) {
      if (cancelled()) {
        throw new CancelledError();
      }
      const chunks = headChunks(batch.targets, this.config.vocabularySize, MICRO_BATCH_TOKENS);
      const session = await this.session(
        `score in ${String(chunks)}`,
        () => buildScoreGraph(this.config, 'float32', { chunks }),
        this.exact,
      );
      const feeds = { ...weights, ...scoreFeeds(batch), temperature: floats(new Float32Array([temperature]), [1]) };
      distribute(floatData(await session.run(feeds), 'logprobs'), batch, contexts, result);
    }
    return result;
  }

  /**
   * The final hidden state of the last token of each text, [hidden] each.
   * @throws C3Error('input') when a text cannot be read; CancelledError between micro-batches
   */
  async lastStates(
    policy: PolicyWeights,
    texts: readonly Int32Array[],
    cancelled: () => boolean,
  ): Promise<Float32Array[]> {
    // A message of one token is predicted at the last token of its prompt; which token is of no consequence.
    const unused = new Float32Array(1);
    const contexts = texts.map((prompt) => ({
      prompt,
      messages: [{ tokens: new Int32Array(1), behaviour: unused, reference: unused, advantages: unused }],
    }));
    checkContexts(this.config, contexts);
    const weights = await this.weights.of(policy);
    const result: Float32Array[] = [];
    for (const batch of packContexts(this.config, contexts, MICRO_BATCH_TOKENS, 0)) {
      if (cancelled()) {
        throw new CancelledError();
      }
      const session = await this.session('states', () => buildStateGraph(this.config), this.exact);
      const states = floatData(await session.run({ ...weights, ...feedsOf(batch, STATE_INPUTS) }), 'states');
      for (const { context, start } of batch.placements) {
        result[context] = states.slice(start * this.config.hiddenSize, (start + 1) * this.config.hiddenSize);
      }
    }
    return result;
  }

  /**
   * One optimiser step on the token mean over all contexts. Bad input or a cancel leaves the given state as it was. The
   * state's momentum and variance are updated in place, on an accelerator by `settle` only; parameters are fresh, for a
   * snapshot may hold the old ones.
   * @throws C3Error('input') when a context cannot be scored, C3Error('model') when the numbers overflow;
   *   CancelledError between micro-batches
   */
  async step(
    state: TrainingState,
    contexts: readonly TrainingContext[],
    settings: StepSettings,
    cancelled: () => boolean,
  ): Promise<StepResult> {
    return (await this.prepare(state, contexts, settings, cancelled)).apply();
  }

  /** The part of a step that can be cancelled: loss and gradients. @throws as `step` */
  async prepare(
    state: TrainingState,
    contexts: readonly TrainingContext[],
    settings: StepSettings,
    cancelled: () => boolean,
  ): Promise<PreparedStep> {
    checkContexts(this.config, contexts);
    const { sums, ...totals } = await this.gradients(
      await this.weights.of(weightsOf(state)),
      contexts,
      settings,
      cancelled,
    );
    if (sums === undefined) {
      return { apply: () => Promise.resolve({ state, ...totals, gradientNorm: 0 }), discard: () => undefined };
    }
    const discard = (): void => {
      disposeAll(Object.values(sums));
    };
    const update = keepsOutputs(this.device) ? this.updateOnDevice.bind(this) : this.updateInMemory.bind(this);
    return { apply: () => update(state, sums, settings.learningRate, totals).finally(discard), discard };
  }

  /**
   * Brings momentum and variance of the state that the last step returned into its arrays. On the CPU they are there
   * already.
   */
  async settle(state: TrainingState): Promise<void> {
    const held = this.moments.get(state);
    if (held === undefined) {
      return;
    }
    const tensors = await this.weights.memory.download(held);
    for (const { name, offset } of this.views) {
      state.momentum.set(floatData(tensors, momentumName(name)), offset);
      state.variance.set(floatData(tensors, varianceName(name)), offset);
    }
  }

  /** Sums of loss and gradients over all micro-batches; no sums where there was nothing to learn from. */
  private async gradients(
    weights: Held,
    contexts: readonly TrainingContext[],
    settings: StepSettings,
    cancelled: () => boolean,
  ): Promise<Totals & { readonly sums: Held | undefined }> {
    const tokens = contexts.reduce(
      (total, context) => total + context.messages.reduce((sum, message) => sum + message.tokens.length, 0),
      0,
    );
    const totals = { loss: 0, kl: 0, clipFraction: 0, ratioDeviation: 0, tokens: 0, padding: 0 };
    const { loss, policy, recompute = false, microBatchTokens = MICRO_BATCH_TOKENS } = settings;
    const unit = loss === 'ppo' ? (policy?.ratio ?? 'token') : 'token';
    const gradientSession = (chunks: number): Promise<Session> =>
      this.session(
        `${loss} in ${String(chunks)}${recompute ? ', recomputed' : ''}${policy === undefined ? '' : JSON.stringify(policy)}`,
        () => buildGradientGraph(this.config, { loss, recompute, chunks, ...(policy !== undefined && { policy }) }),
        this.exact,
        this.views.map(({ name }) => gradientName(name)),
      );
    const batches = packContexts(this.config, contexts, microBatchTokens, 1 / tokens);
    const slots = batches.reduce((total, batch) => total + batch.slots, 0);
    let sums: Held | undefined;
    try {
      for (const batch of batches) {
        if (cancelled()) {
          throw new CancelledError();
        }
        const session = await gradientSession(headChunks(batch.targets, this.config.vocabularySize, microBatchTokens));
        const { outputs, kept } = await session.runKeeping({
          ...weights,
          ...renamed(this.views, sums ?? (await this.zeros()), gradientName, accumulatedName),
          ...(settings.loss === 'ppo'
            ? { ...batch.feeds, klCoefficient: scalar(settings.klCoefficient) }
            : supervisedFeeds(batch)),
          ...(unit !== 'token' && memberFeeds(batch, contexts, unit === 'message-mean')),
          temperature: scalar(settings.temperature),
        });
        if (sums !== undefined) {
          disposeAll(Object.values(sums));
        }
        sums = kept;
        totals.tokens = tokens;
        totals.loss += numberOf(outputs, 'loss');
        totals.padding += batch.padding / slots;
        if (settings.loss === 'supervised') {
          continue;
        }
        totals.kl += numberOf(outputs, 'kl');
        totals.clipFraction += numberOf(outputs, 'clipped');
        totals.ratioDeviation = Math.max(totals.ratioDeviation, numberOf(outputs, 'deviation'));
      }
    } catch (error) {
      if (sums !== undefined) {
        disposeAll(Object.values(sums));
      }
      throw error;
    }
    return { ...totals, sums };
  }

  /** AdamW with the summed gradients, in ordinary memory. Nothing of the state changes unless the result is finite. */
  private async updateInMemory(
    state: TrainingState,
    sums: Held,
    learningRate: number,
    totals: Totals,
  ): Promise<StepResult> {
    const t = state.step + 1;
    const read = await this.weights.memory.download(sums);
    const gradients = this.views.map(({ name, offset }) => ({ offset, values: floatData(read, gradientName(name)) }));
    const norm = gradientNorm(gradients);
    checkFinite(totals.loss + norm, t);
    return {
      state: { ...state, parameters: adamwStep(state, gradients, norm, learningRate, t, ADAMW), step: t },
      ...totals,
      gradientNorm: norm,
    };
  }

  /** AdamW on the device. Nothing of the state changes unless the result is finite. */
  private async updateOnDevice(
    state: TrainingState,
    sums: Held,
    learningRate: number,
    totals: Totals,
  ): Promise<StepResult> {
    const t = state.step + 1;
    const names = this.views.map(({ name }) => name);
    const changed = names.flatMap((name) => [name, momentumName(name), varianceName(name)]);
    const session = await this.session(
      'update',
      () => buildUpdateGraph(this.config, ADAMW),
      this.device,
      changed.map(updatedName),
    );
    const moments = await this.momentsOf(state);
    const { outputs, kept } = await session.runKeeping({
      ...(await this.weights.trained.of(state.parameters)),
      ...sums,
      ...moments,
      learningRate: scalar(learningRate),
      correction1: scalar(1 - ADAMW.beta1 ** t),
      correction2: scalar(1 - ADAMW.beta2 ** t),
    });
    const norm = numberOf(outputs, 'gradientNorm');
    try {
      checkFinite(totals.loss + norm, t);
    } catch (error) {
      disposeAll(Object.values(kept));
      throw error;
    }
    const pick = (tensors: readonly string[]): Held =>
      Object.fromEntries(tensors.map((name) => [name, found(kept, updatedName(name))]));
    const updated = pick(names);
    const read = await this.weights.memory.download(updated);
    const parameters = new Float32Array(state.parameters.length);
    for (const { name, offset } of this.views) {
      parameters.set(floatData(read, name), offset);
    }
    const next: TrainingState = { ...state, parameters, step: t };
    this.forgetMoments(state);
    this.moments.set(next, pick(names.flatMap((name) => [momentumName(name), varianceName(name)])));
    this.weights.trained.put(parameters, updated);
    return { state: next, ...totals, gradientNorm: norm };
  }

  /** A state's moments on the device: those that the last step left there, or copies of its arrays. */
  private async momentsOf(state: TrainingState): Promise<Held> {
    const known = this.moments.get(state);
    if (known !== undefined) {
      return known;
    }
    const held = await this.weights.memory.upload({
      ...viewFeeds(this.views, state.momentum, momentumName),
      ...viewFeeds(this.views, state.variance, varianceName),
    });
    this.moments.set(state, held);
    return held;
  }

  private forgetMoments(state: TrainingState): void {
    disposeAll(Object.values(this.moments.get(state) ?? {}));
    this.moments.delete(state);
  }

  /** Lets go of what the device holds of training that is given up. */
  forget(): void {
    for (const state of [...this.moments.keys()]) {
      this.forgetMoments(state);
    }
  }

  async release(): Promise<void> {
    this.forget();
    if (this.nothing !== undefined) {
      disposeAll(Object.values(this.nothing));
    }
    this.nothing = undefined;
    // Those that a step left there belong to its graph.
    this.weights.trained.clear();
    for (const session of this.sessions.values()) {
      await (await session).release();
    }
    this.sessions.clear();
    if (this.ownsWeights) {
      await this.weights.release();
    }
  }

  /** Settings under which a result does not depend on what stands beside it. */
  private get exact(): DeviceSettings {
    return { ...this.device, threads: exactThreads(this.config, this.device.threads) };
  }

  /** Sums before the first micro-batch. */
  private async zeros(): Promise<Held> {
    const numbers = this.views.reduce((total, { length }) => total + length, 0);
    this.nothing ??= await this.weights.memory.upload(viewFeeds(this.views, new Float32Array(numbers), gradientName));
    return this.nothing;
  }

  private session(
    key: string,
    build: () => Graph,
    device: DeviceSettings,
    keep: readonly string[] = [],
  ): Promise<Session> {
    const known = this.sessions.get(key);
    if (known !== undefined) {
      return known;
    }
    const created = Session.create(build(), device, keep);
    this.sessions.set(key, created);
    return created;
  }
}

/** What a step showed before its update. */
type Totals = Omit<StepResult, 'state' | 'gradientNorm'>;

function checkFinite(value: number, step: number): void {
  if (Number.isFinite(value)) {
    return;
  }
  throw new C3Error(
    'model',
    `Optimiser step ${String(step)} gave a loss or gradient that is no finite number; lower the learning rate and resume.`,
  );
}

const scalar = (value: number): Tensor => floats(new Float32Array([value]), [1]);
const numberOf = (outputs: Outputs, name: string): number => floatData(outputs, name)[0] ?? NaN;

/** One tensor per parameter under other names. */
const renamed = (
  views: readonly ParameterView[],
  held: Held,
  from: (name: string) => string,
  to: (name: string) => string,
): Held => Object.fromEntries(views.map(({ name }) => [to(name), found(held, from(name))]));

const STATE_INPUTS = ['tokens', 'positions', 'segments', 'slots', 'ones', 'selected', 'inverse'];
const SCORE_INPUTS = [...STATE_INPUTS, 'targets'];

const feedsOf = ({ feeds }: MicroBatch, inputs: readonly string[]): Feeds =>
  Object.fromEntries(Object.entries(feeds).filter(([name]) => inputs.includes(name)));
const scoreFeeds = (batch: MicroBatch): Feeds => feedsOf(batch, SCORE_INPUTS);
const supervisedFeeds = (batch: MicroBatch): Feeds => feedsOf(batch, [...SCORE_INPUTS, 'weights']);

function distribute(
  logprobs: Float32Array,
  batch: MicroBatch,
  contexts: readonly TrainingContext[],
  into: Float32Array[][],
): void {
  for (const { context, message, start } of batch.placements) {
    const count = contexts[context]?.messages[message]?.tokens.length ?? 0;
    const row = into[context];
    if (row !== undefined) {
      row[message] = logprobs.slice(start, start + count);
    }
  }
}

/** Scores packed contexts and trains on them. The gradients of micro-batches add up inside the graph. */

import type { Tensor } from 'onnxruntime-node';
import type { AbortFlag } from '../../shared/cancellation.ts';
import { C3Error, CancelledError } from '../../shared/errors.ts';
import type { Graph } from '../graph/graph.ts';
import { DeviceWeights } from '../model/deviceWeights.ts';
import { exactThreads } from '../model/exactThreads.ts';
import type { PolicyWeights } from '../model/lora.ts';
import { consecutiveViews, viewFeeds, type ParameterView } from '../model/model.ts';
import { trainedSpecs, type TransformerConfig } from '../model/transformer.ts';
import type { DeviceTensors } from '../session/deviceMemory.ts';
import { disposeAll } from '../session/deviceTensor.ts';
import { floatData, floatTensor, Session, type DeviceSettings } from '../session/session.ts';
import {
  distributeLogprobs,
  selectFeeds,
  readScalar,
  renameTensors,
  scalarTensor,
  scoreFeeds,
  STATE_INPUTS,
  supervisedFeeds,
} from './graph/batchFeeds.ts';
import { explainNoExactKl, rowDivergences } from './graph/klTerm.ts';
import {
  checkContexts,
  headChunks,
  largestTargetCount,
  memberFeeds,
  packContexts,
  countContextTokens,
  sumTokenWeights,
  type MicroBatch,
  type TrainingContext,
} from './graph/pack.ts';
import {
  accumulatedName,
  ADAMW,
  buildDistributionGraph,
  buildGradientGraph,
  buildScoreGraph,
  buildStateGraph,
  buildUpdateGraph,
  gradientName,
} from './graph/trainingGraph.ts';
import {
  selectPolicyWeights,
  type PreparedStep,
  type StepResult,
  type StepSettings,
  type StepTotals,
  type TrainingState,
} from './trainingState.ts';
import { Updates } from './updates.ts';

/** Computes whole distributions of a policy at the targets: log-probabilities [targets, vocabulary]. */
export type Distributions = (batch: MicroBatch) => Promise<Float32Array>;

/** Input slots of one micro-batch: a cancel takes effect within 200 ms for the bundled model. */
export const MICRO_BATCH_TOKENS = 2048;

/** The compiled training graphs of one architecture, made on first use. */
export class Trainer {
  private readonly config: TransformerConfig;
  private readonly device: DeviceSettings;
  private readonly weights: DeviceWeights;
  /** The layout of the trained parameters. */
  private readonly views: readonly ParameterView[];
  private readonly ownsWeights: boolean;
  private readonly sessions = new Map<string, Promise<Session>>();
  private readonly updates: Updates;
  private nothing: DeviceTensors | undefined;

  /**
   * @param config if it has an adapter, only the adapter is trained
   * @param weights parameters on the device that a generator shares; their owner releases them after
   *   this object
   */
  constructor(config: TransformerConfig, device: DeviceSettings, weights?: DeviceWeights) {
    this.config = config;
    this.device = device;
    this.weights = weights ?? new DeviceWeights(config, device);
    this.ownsWeights = weights === undefined;
    this.views = consecutiveViews(trainedSpecs(config));
    this.updates = new Updates({
      device,
      weights: this.weights,
      views: this.views,
      session: (keep) => this.session('update', () => buildUpdateGraph(config, ADAMW), device, keep),
    });
  }

  /**
   * Returns the log-probabilities of every message token, per context and message.
   * @throws C3Error('input') if a context cannot be scored
   * @throws CancelledError between micro-batches
   */
  async score(
    policy: PolicyWeights,
    contexts: readonly TrainingContext[],
    temperature: number,
    signal: AbortFlag,
  ): Promise<Float32Array[][]> {
    checkContexts(this.config, contexts);
    const weights = await this.weights.of(policy);
    const result: Float32Array[][] = contexts.map(() => []);
    const batches = packContexts(this.config, contexts, MICRO_BATCH_TOKENS, 0);
    const most = largestTargetCount(batches);
    for (const batch of batches) {
      if (signal.aborted) {
        throw new CancelledError();
      }
      const chunks = headChunks(batch.targets, this.config.vocabularySize, most);
      const session = await this.session(
        `score in ${chunks}`,
        () => buildScoreGraph(this.config, 'float32', { chunks }),
        this.exact,
      );
      const feeds = {
        ...weights,
        ...scoreFeeds(batch),
        temperature: floatTensor(new Float32Array([temperature]), [1]),
      };
      distributeLogprobs(floatData(await session.run(feeds), 'logprobs'), batch, contexts, result);
    }
    return result;
  }

  /**
   * Returns a function for the whole distributions of a policy.
   * @throws C3Error('input') if the vocabulary is too large for them
   */
  distributions(policy: PolicyWeights, temperature: number): Distributions {
    this.checkVocabulary();
    return async (batch) => {
      const session = await this.session('distribution', () => buildDistributionGraph(this.config), this.exact);
      const feeds = { ...(await this.weights.of(policy)), ...selectFeeds(batch, STATE_INPUTS) };
      return floatData(await session.run({ ...feeds, temperature: scalarTensor(temperature) }), 'distribution');
    };
  }

  /**
   * Returns KL(policy || other) over the whole vocabulary at every message token, per context and
   * message.
   * @throws C3Error('input') if a context cannot be scored or the vocabulary is too large
   * @throws CancelledError between micro-batches
   */
  async divergence(
    policy: PolicyWeights,
    other: Distributions,
    contexts: readonly TrainingContext[],
    temperature: number,
    signal: AbortFlag,
  ): Promise<Float32Array[][]> {
    checkContexts(this.config, contexts);
    const own = this.distributions(policy, temperature);
    const result: Float32Array[][] = contexts.map(() => []);
    for (const batch of packContexts(this.config, contexts, MICRO_BATCH_TOKENS, 0)) {
      if (signal.aborted) {
        throw new CancelledError();
      }
      const divergences = rowDivergences(await own(batch), await other(batch), this.config.vocabularySize);
      distributeLogprobs(divergences, batch, contexts, result);
    }
    return result;
  }

  /**
   * Returns the final hidden state of the last token of each text, [hidden] each.
   * @throws C3Error('input') if a text cannot be read
   * @throws CancelledError between micro-batches
   */
  async lastStates(policy: PolicyWeights, texts: readonly Int32Array[], signal: AbortFlag): Promise<Float32Array[]> {
    // A message of one token is predicted at the last token of its prompt. The choice of the token does
    // not matter.
    const unused = new Float32Array(1);
    const contexts = texts.map((prompt) => ({
      prompt,
      messages: [{ tokens: new Int32Array(1), behaviour: unused, reference: unused, advantages: unused }],
    }));
    checkContexts(this.config, contexts);
    const weights = await this.weights.of(policy);
    const result: Float32Array[] = [];
    for (const batch of packContexts(this.config, contexts, MICRO_BATCH_TOKENS, 0)) {
      if (signal.aborted) {
        throw new CancelledError();
      }
      const session = await this.session('states', () => buildStateGraph(this.config), this.exact);
      const states = floatData(await session.run({ ...weights, ...selectFeeds(batch, STATE_INPUTS) }), 'states');
      for (const { context, start } of batch.placements) {
        result[context] = states.slice(start * this.config.hiddenSize, (start + 1) * this.config.hiddenSize);
      }
    }
    return result;
  }

  /**
   * Does one optimizer step on the token mean over all contexts. Bad input or a cancel does not change
   * the given state. The momentum and variance of the state are updated in place (on an accelerator only
   * by `download`). The parameters are a new array, because a snapshot may hold the old one.
   * @throws C3Error('input') if a context cannot be scored
   * @throws C3Error('model') if the numbers overflow
   * @throws CancelledError between micro-batches
   */
  async step(
    state: TrainingState,
    contexts: readonly TrainingContext[],
    settings: StepSettings,
    signal: AbortFlag,
  ): Promise<StepResult> {
    return (await this.prepare(state, contexts, settings, signal)).apply();
  }

  /**
   * Computes loss and gradients, the part of a step that can be cancelled.
   * @param anchor the other policy of an exact penalty
   * @throws as `step`
   */
  async prepare(
    state: TrainingState,
    contexts: readonly TrainingContext[],
    settings: StepSettings,
    signal: AbortFlag,
    anchor?: Distributions,
  ): Promise<PreparedStep> {
    checkContexts(this.config, contexts);
    if (settings.policy?.kl?.estimator === 'exact') {
      this.checkVocabulary();
    }
    const { sums, ...totals } = await this.gradients(
      await this.weights.of(selectPolicyWeights(state)),
      contexts,
      settings,
      signal,
      anchor,
    );
    if (contexts.length === 0) {
      return { apply: () => Promise.resolve({ state, ...totals, gradientNorm: 0 }), discard: () => undefined };
    }
    const discard = (): void => this.discardSums(sums);
    return { apply: () => this.updates.apply(state, sums, settings.learningRate, totals).finally(discard), discard };
  }

  /**
   * Sums loss and gradients over all micro-batches, in order. The gradient of one whose messages all
   * have weight 0 is 0, so it is not computed.
   */
  private async gradients(
    weights: DeviceTensors,
    contexts: readonly TrainingContext[],
    settings: StepSettings,
    signal: AbortFlag,
    anchor: Distributions | undefined,
  ): Promise<StepTotals & { readonly sums: DeviceTensors }> {
    const tokens = countContextTokens(contexts);
    const totals: { -readonly [Key in keyof StepTotals]: StepTotals[Key] } = {
      loss: 0,
      kl: 0,
      clipFraction: 0,
      effectiveClip: 0,
      ratioDeviation: 0,
      tokens,
      padding: 0,
      ...(contexts.length > 0 && settings.policy?.kl !== undefined && { penalty: 0 }),
    };
    const { loss, policy, recompute = false, microBatchTokens = MICRO_BATCH_TOKENS } = settings;
    const exact = loss === 'ppo' && policy?.kl?.estimator === 'exact';
    const unit = loss === 'ppo' ? (policy?.ratio ?? 'token') : 'token';
    const gradientSession = (chunks: number): Promise<Session> =>
      this.session(
        `${loss} in ${chunks}${recompute ? ', recomputed' : ''}${policy === undefined ? '' : JSON.stringify(policy)}`,
        () => buildGradientGraph(this.config, { loss, recompute, chunks, ...(policy !== undefined && { policy }) }),
        this.exact,
        this.views.map(({ name }) => gradientName(name)),
      );
    const batches = packContexts(this.config, contexts, microBatchTokens, 1 / tokens);
    const weight = sumTokenWeights(contexts);
    const most = largestTargetCount(batches);
    const slots = batches.reduce((total, batch) => total + batch.slots, 0);
    let sums = await this.zeros();
    try {
      for (const batch of batches) {
        totals.padding += batch.padding / slots;
        if (batch.placements.every(({ context, message }) => contexts[context]?.messages[message]?.weight === 0)) {
          continue;
        }
        if (signal.aborted) {
          throw new CancelledError();
        }
        const session = await gradientSession(exact ? 1 : headChunks(batch.targets, this.config.vocabularySize, most));
        const { outputs, kept } = await session.runKeeping({
          ...weights,
          ...renameTensors(this.views, sums, gradientName, accumulatedName),
          ...(settings.loss === 'ppo'
            ? { ...batch.feeds, klCoefficient: scalarTensor(settings.klCoefficient) }
            : supervisedFeeds(batch)),
          ...(exact && anchor !== undefined && { anchor: this.anchorFeed(await anchor(batch)) }),
          ...((unit === 'message' || unit === 'message-mean') && memberFeeds(batch, contexts, unit === 'message-mean')),
          temperature: scalarTensor(settings.temperature),
        });
        this.discardSums(sums);
        sums = kept;
        totals.loss += readScalar(outputs, 'loss');
        if (settings.loss === 'supervised') {
          continue;
        }
        totals.kl += readScalar(outputs, 'kl') / weight;
        if (policy?.kl !== undefined) {
          totals.penalty = (totals.penalty ?? 0) + readScalar(outputs, 'penalty') / weight;
        }
        totals.clipFraction += readScalar(outputs, 'clipped') / weight;
        totals.effectiveClip += readScalar(outputs, 'effective') / weight;
        totals.ratioDeviation = Math.max(totals.ratioDeviation, readScalar(outputs, 'deviation'));
      }
    } catch (error) {
      this.discardSums(sums);
      throw error;
    }
    return { ...totals, sums };
  }

  /** Copies the moments of the last step from the device into the arrays of its state. */
  download(state: TrainingState): Promise<void> {
    return this.updates.download(state);
  }

  /** Frees the device memory of training that was given up. */
  forget(): void {
    this.updates.forget();
  }

  async release(): Promise<void> {
    this.forget();
    if (this.nothing !== undefined) {
      disposeAll(Object.values(this.nothing));
    }
    this.nothing = undefined;
    // The vectors that a step left there belong to its graph.
    this.weights.trained.clear();
    for (const session of this.sessions.values()) {
      await (await session).release();
    }
    this.sessions.clear();
    if (this.ownsWeights) {
      await this.weights.release();
    }
  }

  /** Device settings with which a result does not depend on its batch. */
  private get exact(): DeviceSettings {
    return { ...this.device, threads: exactThreads(this.config, this.device.threads) };
  }

  private anchorFeed(distributions: Float32Array): Tensor {
    const { vocabularySize } = this.config;
    return floatTensor(distributions, [distributions.length / vocabularySize, vocabularySize]);
  }

  private checkVocabulary(): void {
    const fault = explainNoExactKl(this.config.vocabularySize);
    if (fault !== null) {
      throw new C3Error('input', fault);
    }
  }

  /** Frees sums of gradients, except the zero sums, which are used again. */
  private discardSums(sums: DeviceTensors): void {
    if (sums !== this.nothing) {
      disposeAll(Object.values(sums));
    }
  }

  /** Returns the zero sums before the first micro-batch. */
  private async zeros(): Promise<DeviceTensors> {
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

/** Scoring and optimiser steps over packed contexts, with gradient accumulation inside the graph. */
import { C3Error, CancelledError } from '../shared/errors.ts';
import { exactThreads } from './exactThreads.ts';
import type { Graph } from './graph.ts';
import { parameterFeeds } from './model.ts';
import { checkContexts, packContexts, type MicroBatch, type TrainingContext } from './pack.ts';
import { floatData, floats, Session, type DeviceSettings, type Feeds } from './session.ts';
import { ADAMW, buildScoreGraph, buildTrainingGraph, type LossKind } from './trainingGraph.ts';
import type { TransformerConfig } from './transformer.ts';

/** Everything an optimiser step changes. */
export interface TrainingState {
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
  readonly tokens: number;
  readonly padding: number;
}

/** Input slots of one micro-batch: small enough that a cancel is honoured within 200 ms for the bundled model. */
const MICRO_BATCH_TOKENS = 2048;

export const initialState = (parameters: Float32Array): TrainingState => ({
  parameters,
  momentum: new Float32Array(parameters.length),
  variance: new Float32Array(parameters.length),
  step: 0,
});

/** Compiled training graphs of one architecture, made when first needed. */
export class Trainer {
  private readonly config: TransformerConfig;
  private readonly device: DeviceSettings;
  private readonly sessions = new Map<string, Promise<Session>>();

  constructor(config: TransformerConfig, device: DeviceSettings) {
    this.config = config;
    this.device = device;
  }

  /**
   * Log-probabilities of every message token, per context and message.
   * @throws C3Error('input') when a context cannot be scored; CancelledError between micro-batches
   */
  async score(parameters: Float32Array, contexts: readonly TrainingContext[], temperature: number, cancelled: () => boolean): Promise<Float32Array[][]> {
    checkContexts(this.config, contexts);
    const exact = { threads: exactThreads(this.config, this.device.threads) };
    const session = await this.session('score', () => buildScoreGraph(this.config), exact);
    const weights = parameterFeeds(this.config, parameters);
    const result: Float32Array[][] = contexts.map(() => []);
    for (const batch of packContexts(contexts, MICRO_BATCH_TOKENS, 0)) {
      if (cancelled()) throw new CancelledError();
      const feeds = { ...weights, ...scoreFeeds(batch), temperature: floats(new Float32Array([temperature]), [1]) };
      distribute(floatData(await session.run(feeds), 'logprobs'), batch, contexts, result);
    }
    return result;
  }

  /**
   * One optimiser step on the token mean over all contexts. Bad input or a cancel leaves the given state as it was.
   * @throws C3Error('input') when a context cannot be scored, C3Error('model') when the numbers overflow; CancelledError between micro-batches
   */
  async step(state: TrainingState, contexts: readonly TrainingContext[], settings: StepSettings, cancelled: () => boolean): Promise<StepResult> {
    checkContexts(this.config, contexts);
    const tokens = contexts.reduce((total, context) => total + context.messages.reduce((sum, message) => sum + message.tokens.length, 0), 0);
    const batches = packContexts(contexts, MICRO_BATCH_TOKENS, 1 / tokens);
    const weights = parameterFeeds(this.config, state.parameters);
    const vector = (data: Float32Array): ReturnType<typeof floats> => floats(data, [data.length]);
    const scalar = (value: number): ReturnType<typeof floats> => floats(new Float32Array([value]), [1]);
    const t = state.step + 1;
    const totals = { loss: 0, kl: 0, clipFraction: 0, ratioDeviation: 0, padding: 0 };
    let accumulated: Float32Array | undefined;
    for (const [index, batch] of batches.entries()) {
      if (cancelled()) throw new CancelledError();
      const update = index === batches.length - 1;
      const session = await this.trainingSession(settings.loss, accumulated !== undefined, update);
      const outputs = await session.run({
        ...weights,
        ...(settings.loss === 'ppo' ? { ...batch.feeds, klCoefficient: scalar(settings.klCoefficient) } : supervisedFeeds(batch)),
        temperature: scalar(settings.temperature),
        ...(accumulated && { accumulated: vector(accumulated) }),
        ...(update && {
          parametersFlat: vector(state.parameters),
          momentum: vector(state.momentum),
          variance: vector(state.variance),
          learningRate: scalar(settings.learningRate),
          correction1: scalar(1 - ADAMW.beta1 ** t),
          correction2: scalar(1 - ADAMW.beta2 ** t),
        }),
      });
      const number = (name: string): number => floatData(outputs, name)[0] ?? NaN;
      totals.loss += number('loss');
      totals.padding += batch.padding / batches.length;
      if (settings.loss === 'ppo') {
        totals.kl += number('kl');
        totals.clipFraction += number('clipped');
        totals.ratioDeviation = Math.max(totals.ratioDeviation, number('deviation'));
      }
      if (!update) {
        accumulated = floatData(outputs, 'gradient');
        continue;
      }
      const gradientNorm = number('gradientNorm');
      if (!Number.isFinite(totals.loss + gradientNorm)) {
        throw new C3Error('model', `Optimiser step ${String(t)} gave a loss or gradient that is no finite number; lower the learning rate and resume.`);
      }
      const next: TrainingState = {
        parameters: floatData(outputs, 'newParameters'),
        momentum: floatData(outputs, 'newMomentum'),
        variance: floatData(outputs, 'newVariance'),
        step: t,
      };
      return { state: next, ...totals, gradientNorm, tokens };
    }
    return { state, ...totals, gradientNorm: 0, tokens: 0 };
  }

  async release(): Promise<void> {
    for (const session of this.sessions.values()) await (await session).release();
    this.sessions.clear();
  }

  private trainingSession(loss: LossKind, accumulate: boolean, update: boolean): Promise<Session> {
    const key = `${loss} ${String(accumulate)} ${String(update)}`;
    return this.session(key, () => buildTrainingGraph(this.config, { loss, accumulate, update, adamw: ADAMW }), this.device);
  }

  private session(key: string, build: () => Graph, device: DeviceSettings): Promise<Session> {
    const known = this.sessions.get(key);
    if (known !== undefined) return known;
    const created = Session.create(build(), device);
    this.sessions.set(key, created);
    return created;
  }
}

function scoreFeeds({ feeds }: MicroBatch): Feeds {
  const { tokens, positions, segments, slots, selected, targets } = feeds;
  return Object.fromEntries(Object.entries({ tokens, positions, segments, slots, selected, targets }).flatMap(([name, value]) => (value ? [[name, value]] : [])));
}

function supervisedFeeds(batch: MicroBatch): Feeds {
  const weights = batch.feeds['weights'];
  return { ...scoreFeeds(batch), ...(weights && { weights }) };
}

function distribute(logprobs: Float32Array, batch: MicroBatch, contexts: readonly TrainingContext[], into: Float32Array[][]): void {
  for (const { context, message, start } of batch.placements) {
    const count = contexts[context]?.messages[message]?.tokens.length ?? 0;
    const row = into[context];
    if (row !== undefined) row[message] = logprobs.slice(start, start + count);
  }
}

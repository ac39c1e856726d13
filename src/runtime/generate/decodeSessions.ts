/** Generation on the CPU, over a key-value cache in ordinary memory that no step copies. */

import type { Tensor } from 'onnxruntime-node';
import { exactThreads } from '../model/exactThreads.ts';
import { weightFeeds, type PolicyWeights } from '../model/lora.ts';
import {
  EMBEDDING,
  FINAL_NORM,
  headName,
  OUTPUT_PARTS,
  partName,
  PROJECTION_PARTS,
  type TransformerConfig,
} from '../model/transformer.ts';
import {
  floatData,
  floatTensor,
  int32Tensor,
  int64Tensor,
  Session,
  type DeviceSettings,
  type Outputs,
} from '../session/session.ts';
import { roundUp, TIME_MULTIPLE } from '../train/graph/pack.ts';
import {
  buildEnterGraph,
  buildExitGraph,
  buildMiddleGraph,
  buildPrefillGraph,
  cacheNames,
  nextLayerInputName,
} from './generationGraph.ts';
import { CacheMemory, KeyValueCache } from './keyValueCache.ts';
import { planPrefill, type Decoder, type Prefilled, type PrefillPlan, type RowBatch } from './rowBatch.ts';
import { groupBySharedPrefix } from './sharedPrefixes.ts';

type TensorFeeds = Readonly<Record<string, Tensor>>;

/** Compiled graphs of one architecture; weights are given with every batch. */
export class DecodeSessions implements Decoder {
  readonly config: TransformerConfig;
  readonly prefill: Session;
  readonly enter: Session;
  readonly middle: Session;
  readonly exit: Session;
  readonly memory: CacheMemory;

  private constructor(
    config: TransformerConfig,
    memory: CacheMemory,
    prefill: Session,
    enter: Session,
    middle: Session,
    exit: Session,
  ) {
    this.config = config;
    this.memory = memory;
    this.prefill = prefill;
    this.enter = enter;
    this.middle = middle;
    this.exit = exit;
  }

  /**
   * Compiles the graphs. They use fewer threads than `device` sets if more would make a result depend on
   * its batch.
   * @param memory of the cache; sessions that never work at the same time may share it
   */
  static async create(
    config: TransformerConfig,
    device: DeviceSettings,
    memory = new CacheMemory(),
  ): Promise<DecodeSessions> {
    const exact = { ...device, threads: exactThreads(config, device.threads) };
    const compile = async (
      build: (config: TransformerConfig) => Parameters<typeof Session.create>[0],
    ): Promise<Session> => Session.create(build(config), exact);
    return new DecodeSessions(
      config,
      memory,
      await compile(buildPrefillGraph),
      await compile(buildEnterGraph),
      await compile(buildMiddleGraph),
      await compile(buildExitGraph),
    );
  }

  batch(weights: PolicyWeights, capacity: number, slots: number): Promise<RowBatch> {
    return Promise.resolve(new DecodeBatch(this, weights, capacity, slots));
  }

  async release(): Promise<void> {
    for (const session of [this.prefill, this.enter, this.middle, this.exit]) {
      await session.release();
    }
  }
}

/** Prompts that were prefilled together. */
interface Computed extends Pick<PrefillPlan, 'time' | 'places'> {
  readonly outputs: Outputs;
}

const NOTHING: Computed = { outputs: {}, time: 0, places: [] };

/** A batch whose cache JavaScript writes in place. */
class DecodeBatch implements RowBatch {
  readonly keepsPrefilled = true;
  private readonly sessions: DecodeSessions;
  private readonly weights: TensorFeeds;
  private readonly enterWeights: TensorFeeds;
  /**
   * Per layer: the weights of its output and of the next layer's projections. The last layer has the
   * output projection instead.
   */
  private readonly stageWeights: readonly TensorFeeds[];
  private readonly cache: KeyValueCache;
  private readonly tokens: Int32Array;
  private readonly positions: BigInt64Array;
  private readonly temperatures: Float32Array;
  private computed = NOTHING;

  constructor(sessions: DecodeSessions, weights: PolicyWeights, capacity: number, slots: number) {
    const { config } = sessions;
    this.sessions = sessions;
    this.weights = weightFeeds(config, weights);
    const pick = (entries: readonly (readonly [input: string, parameter: string])[]): TensorFeeds =>
      Object.fromEntries(
        entries.flatMap(([input, parameter]) =>
          this.weights[parameter] === undefined ? [] : [[input, this.weights[parameter]]],
        ),
      );
    this.enterWeights = pick([
      [EMBEDDING, EMBEDDING],
      ...PROJECTION_PARTS.map((part) => [part, partName(0, part)] as const),
    ]);
    this.stageWeights = Array.from({ length: config.layers }, (_, layer) =>
      pick([
        ...OUTPUT_PARTS.map((part) => [part, partName(layer, part)] as const),
        ...(layer === config.layers - 1
          ? [[FINAL_NORM, FINAL_NORM] as const, [headName(config), headName(config)] as const]
          : PROJECTION_PARTS.map((part) => [nextLayerInputName(part), partName(layer + 1, part)] as const)),
      ]),
    );
    this.cache = new KeyValueCache(config, capacity, roundUp(slots, TIME_MULTIPLE), sessions.memory);
    this.tokens = new Int32Array(capacity);
    this.positions = new BigInt64Array(capacity);
    this.temperatures = new Float32Array(capacity).fill(1);
  }

  async prefill(prompts: readonly Int32Array[], temperatures: readonly number[]): Promise<Prefilled> {
    const { feeds, time, places, reused } = planPrefill(
      prompts,
      temperatures,
      groupBySharedPrefix(this.sessions.config, prompts),
    );
    const outputs = await this.sessions.prefill.run({ ...this.weights, ...feeds });
    this.computed = { outputs, time, places };
    return { logprobs: floatData(outputs, 'logprobs'), reused };
  }

  admit(row: number, prompt: number, length: number): void {
    const { outputs, time, places } = this.computed;
    const place = places[prompt];
    if (place === undefined) {
      throw new Error(`Prompt ${prompt} was not prefilled.`);
    }
    this.cache.reserve(length, row);
    for (let layer = 0; layer < this.sessions.config.layers; layer++) {
      const names = cacheNames(layer);
      this.cache.fill(
        layer,
        row,
        floatData(outputs, names.keys),
        floatData(outputs, names.values),
        time,
        place,
        length,
      );
    }
    this.cache.show(row, length);
  }

  set(row: number, token: number, position: number, temperature: number): void {
    this.tokens[row] = token;
    this.positions[row] = BigInt(position);
    this.temperatures[row] = temperature;
  }

  move(from: number, to: number): void {
    this.cache.move(from, to);
  }

  async step(rows: number): Promise<Float32Array> {
    const { config, enter, middle, exit } = this.sessions;
    const count = Math.max(2, rows);
    let furthest = 0n;
    for (let row = 0; row < rows; row++) {
      if ((this.positions[row] ?? 0n) > furthest) {
        furthest = this.positions[row] ?? 0n;
      }
    }
    this.cache.reserve(Number(furthest) + 1, rows);
    for (let row = 0; row < rows; row++) {
      this.cache.show(row, Number(this.positions[row]) + 1);
    }
    const positions = int64Tensor(this.positions.subarray(0, count), [count, 1]);
    let stage = await enter.run({
      ...this.enterWeights,
      tokens: int32Tensor(this.tokens.subarray(0, count), [count, 1]),
      positions,
    });
    for (let layer = 0; layer < config.layers; layer++) {
      this.cache.append(layer, rows, this.positions, floatData(stage, 'next_keys'), floatData(stage, 'next_values'));
      const feeds = { ...this.stageWeights[layer], ...this.cache.feeds(layer, count), ...stageFeeds(stage) };
      stage =
        layer === config.layers - 1
          ? await exit.run({ ...feeds, temperature: floatTensor(this.temperatures.subarray(0, count), [count, 1]) })
          : await middle.run({ ...feeds, positions });
    }
    return floatData(stage, 'logprobs');
  }

  release(): void {
    this.computed = NOTHING;
  }
}

function stageFeeds({ next_hidden: hidden, next_queries: queries }: Outputs): TensorFeeds {
  return hidden === undefined || queries === undefined ? {} : { hidden, queries };
}

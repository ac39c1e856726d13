/** Generation on an accelerator: weights and cache stay on the device, and a step is one call. */

import { Graph, type Value } from '../graph/graph.ts';
import { HIDDEN } from '../graph/ops/attention.ts';
import { cast, div, equal, lessOrEqual, select } from '../graph/ops/elementwise.ts';
import { logSoftmax } from '../graph/ops/normalise.ts';
import { reshape, unsqueeze } from '../graph/ops/shape.ts';
import { embed, layerOutput, logits, project, buildRotaryTables } from '../model/decoder.ts';
import { DeviceWeights } from '../model/deviceWeights.ts';
import { exactThreads } from '../model/exactThreads.ts';
import type { PolicyWeights } from '../model/lora.ts';
import { type TransformerConfig, layerWeights, parameterInputs } from '../model/transformer.ts';
import { requireTensor, type DeviceTensors } from '../session/deviceMemory.ts';
import { disposeAll } from '../session/deviceTensor.ts';
import {
  floatData,
  floatTensor,
  int32Tensor,
  int64Tensor,
  Session,
  type DeviceSettings,
  type Results,
} from '../session/session.ts';
import { roundUp, TIME_MULTIPLE } from '../train/graph/pack.ts';
import { buildPrefillGraph, cacheNames } from './generationGraph.ts';
import { planPrefill, type Decoder, type Prefilled, type RowBatch } from './rowBatch.ts';
import { groupSeparately } from './sharedPrefixes.ts';

/** Extra slots, so that the cache does not grow at every step. */
const GROWTH = TIME_MULTIPLE;

export class DeviceSessions implements Decoder {
  readonly config: TransformerConfig;
  readonly weights: DeviceWeights;
  private readonly ownsWeights: boolean;
  readonly prefill: Session;
  readonly step: Session;
  readonly rearrange: Session;
  readonly extend: Session;

  private constructor(
    config: TransformerConfig,
    weights: DeviceWeights,
    ownsWeights: boolean,
    prefill: Session,
    step: Session,
    rearrange: Session,
    extend: Session,
  ) {
    this.config = config;
    this.weights = weights;
    this.ownsWeights = ownsWeights;
    this.prefill = prefill;
    this.step = step;
    this.rearrange = rearrange;
    this.extend = extend;
  }

  /**
   * @param weights parameters on the device that a trainer shares; their owner releases them after these
   *   sessions
   */
  static async create(
    config: TransformerConfig,
    device: DeviceSettings,
    weights?: DeviceWeights,
  ): Promise<DeviceSessions> {
    const exact = { ...device, threads: exactThreads(config, device.threads) };
    const parts = listCacheParts(config);
    const next = parts.map(nextPartName);
    return new DeviceSessions(
      config,
      weights ?? new DeviceWeights(config, device),
      weights === undefined,
      await Session.create(buildPrefillGraph(config), exact, parts),
      await Session.create(buildStepGraph(config), exact, next),
      await Session.create(buildArrangeGraph(config, false), exact, next),
      await Session.create(buildArrangeGraph(config, true), exact, next),
    );
  }

  async batch(weights: PolicyWeights, capacity: number, slots: number): Promise<RowBatch> {
    return new DeviceBatch(this, await this.weights.of(weights), capacity, slots);
  }

  async release(): Promise<void> {
    for (const session of [this.prefill, this.step, this.rearrange, this.extend]) {
      await session.release();
    }
    if (this.ownsWeights) {
      await this.weights.release();
    }
  }
}

/** Cache tensors by part, [rows, key-value heads, slots, width]. */
interface Cache {
  readonly held: DeviceTensors;
  readonly rows: number;
  readonly slots: number;
}

const NOTHING: Cache = { held: {}, rows: 0, slots: 0 };

class DeviceBatch implements RowBatch {
  /** A step moves the cache of new rows to their places and frees the other prefilled prompts. */
  readonly keepsPrefilled = false;
  private readonly sessions: DeviceSessions;
  private readonly weights: DeviceTensors;
  /** Slots of the longest row that may come. */
  private readonly limit: number;
  private cache = NOTHING;
  private fresh = NOTHING;
  /** For each row, its source: a row of the cache, or (counted on from there) a prefilled prompt. */
  private readonly sources: number[] = [];
  private readonly tokens: Int32Array;
  private readonly positions: BigInt64Array;
  private readonly temperatures: Float32Array;

  constructor(sessions: DeviceSessions, weights: DeviceTensors, capacity: number, slots: number) {
    this.sessions = sessions;
    this.weights = weights;
    this.limit = roundUp(slots, TIME_MULTIPLE);
    this.tokens = new Int32Array(capacity);
    this.positions = new BigInt64Array(capacity);
    this.temperatures = new Float32Array(capacity).fill(1);
  }

  async prefill(prompts: readonly Int32Array[], temperatures: readonly number[]): Promise<Prefilled> {
    if (this.fresh !== NOTHING) {
      await this.arrange(this.sources.length, 0);
    }
    // A row is gathered whole here, so every prompt has a row of its own.
    const { feeds, time, reused } = planPrefill(prompts, temperatures, groupSeparately(prompts));
    const { outputs, kept } = await this.sessions.prefill.runKeeping({ ...this.weights, ...feeds });
    this.fresh = { held: kept, rows: prompts.length, slots: time };
    return { logprobs: floatData(outputs, 'logprobs'), reused };
  }

  admit(row: number, prompt: number): void {
    this.sources[row] = this.cache.rows + prompt;
  }

  set(row: number, token: number, position: number, temperature: number): void {
    this.tokens[row] = token;
    this.positions[row] = BigInt(position);
    this.temperatures[row] = temperature;
  }

  move(from: number, to: number): void {
    this.sources[to] = this.sources[from] ?? 0;
  }

  async step(rows: number): Promise<Float32Array> {
    // At least two rows: a matrix product of one row uses another kernel.
    const count = Math.max(2, rows);
    this.sources.length = rows;
    while (this.sources.length < count) {
      this.sources.push(this.sources[0] ?? 0);
    }
    for (let row = rows; row < count; row++) {
      this.set(row, this.tokens[0] ?? 0, Number(this.positions[0] ?? 0n), 1);
    }
    const positions = this.positions.subarray(0, count);
    const places = Int32Array.from(positions, Number);
    await this.arrange(count, Math.max(...places) + 1);
    const { slots } = this.cache;
    const { outputs, kept } = await this.sessions.step.runKeeping({
      ...this.weights,
      ...this.cache.held,
      tokens: int32Tensor(this.tokens.subarray(0, count), [count, 1]),
      positions: int64Tensor(positions, [count, 1]),
      places: int32Tensor(places, [count, 1]),
      slots: int32Tensor(
        Int32Array.from({ length: slots }, (_, slot) => slot),
        [slots],
      ),
      ones: floatTensor(new Float32Array(2 * slots).fill(1), [slots, 2]),
      temperature: floatTensor(this.temperatures.subarray(0, count), [count, 1]),
    });
    this.replace(kept, count, slots);
    return floatData(outputs, 'logprobs');
  }

  release(): void {
    disposeAll([...Object.values(this.cache.held), ...Object.values(this.fresh.held)]);
    this.cache = NOTHING;
    this.fresh = NOTHING;
  }

  /** Moves rows to their places in a cache of at least `needed` slots. */
  private async arrange(rows: number, needed: number): Promise<void> {
    const { cache, fresh } = this;
    const slots =
      needed <= cache.slots && fresh.slots <= cache.slots
        ? cache.slots
        : Math.min(this.limit, roundUp(Math.max(needed, fresh.slots), TIME_MULTIPLE) + GROWTH);
    if (rows === cache.rows && slots === cache.slots && this.sources.every((source, row) => source === row)) {
      return;
    }
    const { kept } = await this.arranged(Int32Array.from(this.sources), Math.max(slots, cache.slots));
    disposeAll(Object.values(fresh.held));
    this.fresh = NOTHING;
    this.replace(kept, rows, Math.max(slots, cache.slots));
    for (let row = 0; row < rows; row++) {
      this.sources[row] = row;
    }
  }

  private arranged(sources: Int32Array, slots: number): Promise<Results> {
    const { cache, fresh } = this;
    const sorted = int32Tensor(sources, [sources.length]);
    const parts = listCacheParts(this.sessions.config);
    const room = (from: Cache): ReturnType<typeof int64Tensor> =>
      int64Tensor(BigInt64Array.of(0n, 0n, 0n, 0n, 0n, 0n, BigInt(slots - from.slots), 0n), [8]);
    if (fresh === NOTHING) {
      return this.sessions.rearrange.runKeeping({ ...cache.held, pads: room(cache), sources: sorted });
    }
    if (cache === NOTHING) {
      return this.sessions.rearrange.runKeeping({ ...fresh.held, pads: room(fresh), sources: sorted });
    }
    const added = Object.fromEntries(parts.map((part) => [freshPartName(part), requireTensor(fresh.held, part)]));
    return this.sessions.extend.runKeeping({
      ...cache.held,
      ...added,
      pads: room(cache),
      freshPads: room(fresh),
      sources: sorted,
    });
  }

  private replace(kept: DeviceTensors, rows: number, slots: number): void {
    disposeAll(Object.values(this.cache.held));
    const held = Object.fromEntries(
      listCacheParts(this.sessions.config).map((part) => [part, requireTensor(kept, nextPartName(part))]),
    );
    this.cache = { held, rows, slots };
  }
}

// Graphs for accelerators: a whole decoding step, and the rearrangement of a cache that stays on the
// device.

/** Lists the names of all cache tensors, layer by layer. */
const listCacheParts = ({ layers }: TransformerConfig): string[] =>
  Array.from({ length: layers }, (_, layer) => Object.values(cacheNames(layer))).flat();

/** Returns the name of a cache tensor as an output of a graph. */
const nextPartName = (part: string): string => `next.${part}`;
/** Returns the name of a cache tensor of prompts that were just prefilled. */
const freshPartName = (part: string): string => `fresh.${part}`;

/**
 * Builds a decoding step. Inputs: the parameters; tokens int32 [rows, 1]; positions int64 [rows, 1]
 * and the same numbers as places int32 [rows, 1]; slots int32 [slots] = 0, 1, ...; ones float [slots,
 * 2]; the cache keys_i, values_i [rows, key-value heads, slots, width]; temperature float [rows, 1].
 * Outputs: logprobs [rows, vocabulary]; next.keys_i, next.values_i: the cache with the keys and values
 * of each row at its place.
 */
export function buildStepGraph(config: TransformerConfig): Graph {
  const g = new Graph('step');
  const parameters = parameterInputs(g, config);
  const positions = g.input('positions', 'int64', ['rows', 1]);
  const places = g.input('places', 'int32', ['rows', 1]);
  const slots = g.input('slots', 'int32', ['slots']);
  const ones = g.floatInput('ones', ['slots', 2]);
  const seen = unsqueeze(g, lessOrEqual(g, slots, places), [1, 2]);
  const mask = { bias: select(g, seen, g.scalar(0), g.scalar(HIDDEN)), visible: cast(g, seen, 'float32') };
  const written = equal(g, unsqueeze(g, slots, [0, 1, 3]), unsqueeze(g, places, [1, 3]));
  const tables = buildRotaryTables(g, config);
  let hidden = embed(g, parameters, g.input('tokens', 'int32', ['rows', 1]));
  for (let layer = 0; layer < config.layers; layer++) {
    const weights = layerWeights(parameters, layer);
    const own = project(g, config, weights, hidden, positions, tables);
    const names = cacheNames(layer);
    const extended = (name: string, fresh: Value): Value => {
      const cache = select(
        g,
        written,
        fresh,
        g.floatInput(name, ['rows', config.keyValueHeads, 'slots', config.headDim]),
      );
      g.output(nextPartName(name), cache);
      return cache;
    };
    const attended = { keys: extended(names.keys, own.keys), values: extended(names.values, own.values), mask, ones };
    hidden = layerOutput(g, config, weights, hidden, own.queries, attended);
  }
  const scores = logits(g, config, parameters, reshape(g, hidden, ['rows', config.hiddenSize]));
  g.output('logprobs', logSoftmax(g, div(g, scores, g.floatInput('temperature', ['rows', 1]))));
  return g;
}

/**
 * Builds a graph that reorders the rows of a cache and adds slots. Inputs: the cache keys_i, values_i
 * [rows, key-value heads, slots, width]; with `fresh` also fresh.keys_i, fresh.values_i [prompts,
 * key-value heads, time, width], whose rows are numbered after those of the cache; pads and freshPads
 * int64 [8] as Pad takes them; sources int32 [taken]: the source row of each new row. Outputs:
 * next.keys_i, next.values_i.
 */
export function buildArrangeGraph(config: TransformerConfig, fresh: boolean): Graph {
  const g = new Graph('arrange');
  const { keyValueHeads, headDim } = config;
  const sources = g.input('sources', 'int32', ['taken']);
  const padded = (name: string, rows: string, slots: string, pads: Value): Value =>
    g.apply({
      op: 'Pad',
      inputs: [g.floatInput(name, [rows, keyValueHeads, slots, headDim]), pads],
      dtype: 'float32',
      shape: [rows, keyValueHeads, 'room', headDim],
    });
  const pads = g.input('pads', 'int64', [8]);
  const freshPads = fresh ? g.input('freshPads', 'int64', [8]) : undefined;
  for (const name of listCacheParts(config)) {
    const cache = padded(name, 'rows', 'slots', pads);
    const all =
      freshPads === undefined
        ? cache
        : g.apply({
            op: 'Concat',
            inputs: [cache, padded(freshPartName(name), 'prompts', 'time', freshPads)],
            attributes: { axis: 0 },
            dtype: 'float32',
            shape: ['all', keyValueHeads, 'room', headDim],
          });
    g.output(
      nextPartName(name),
      g.apply({
        op: 'Gather',
        inputs: [all, sources],
        attributes: { axis: 0 },
        dtype: 'float32',
        shape: ['taken', keyValueHeads, 'room', headDim],
      }),
    );
  }
  return g;
}

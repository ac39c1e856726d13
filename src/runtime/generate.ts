/** Batched generation: each distinct prompt is prefilled once, rows leave when they end, waiting rows take their places. */
import type { Tensor } from 'onnxruntime-node';
import { C3Error, CancelledError } from '../shared/errors.ts';
import { exactThreads } from './exactThreads.ts';
import { buildDecodeGraph, buildPrefillGraph, cacheNames } from './generationGraph.ts';
import { parameterFeeds } from './model.ts';
import { Stream } from './random.ts';
import { sampleToken, type TokenSampling } from './sample.ts';
import { floatData, floats, longs, Session, type DeviceSettings, type Outputs } from './session.ts';
import { checkTokens, type TransformerConfig } from './transformer.ts';

export interface GenerationRequest extends TokenSampling {
  readonly prompt: Int32Array;
  readonly maxNewTokens: number;
  /** The token that ends a message; it is part of the completion. */
  readonly endToken: number;
  /** 32 hex digits; unused where the temperature is 0. */
  readonly streamKey: string;
}

export interface Completion {
  readonly tokens: Int32Array;
  /** Log-probability of each token under the full softmax at the sampling temperature (temperature 1 where greedy). */
  readonly logprobs: Float32Array;
  readonly finish: 'end' | 'length';
  readonly promptTokens: number;
  /** Prompt tokens taken from another row's prefill. */
  readonly reusedTokens: number;
}

export interface GenerationControl {
  /** True when the caller wants generation to stop; asked between steps. */
  readonly cancelled: () => boolean;
  /** Told about each completion as soon as it ends. */
  readonly onCompletion?: (index: number, completion: Completion) => void;
}

/** Slots are padded to a multiple of this: attention over padded slots is then the same for any padding. */
const SLOT_MULTIPLE = 16;
/** Rows decoded together at most, and the bytes that their cache may take. */
const MAX_ROWS = 256;
const MAX_CACHE_BYTES = 512 * 1024 * 1024;
const MAX_PREFILL_TOKENS = 4096;

export const roundUp = (value: number, multiple: number): number => Math.ceil(value / multiple) * multiple;

interface Row {
  readonly request: GenerationRequest;
  readonly index: number;
  readonly stream: Stream | undefined;
  readonly reused: boolean;
  readonly tokens: Int32Array;
  readonly logprobs: Float32Array;
  length: number;
}

/** Compiled generation graphs of one architecture; weights are given with every call. */
export class Generator {
  readonly config: TransformerConfig;
  private readonly prefill: Session;
  private readonly decode: Session;

  private constructor(config: TransformerConfig, prefill: Session, decode: Session) {
    this.config = config;
    this.prefill = prefill;
    this.decode = decode;
  }

  /** Compiles the graphs; they use fewer threads than given where more would make a result depend on its batch. */
  static async create(config: TransformerConfig, device: DeviceSettings): Promise<Generator> {
    const exact = { threads: exactThreads(config, device.threads) };
    const [prefill, decode] = [await Session.create(buildPrefillGraph(config), exact), await Session.create(buildDecodeGraph(config), exact)];
    return new Generator(config, prefill, decode);
  }

  /**
   * Answers every request, in the order given.
   * @throws C3Error('input') when a request cannot be answered: an empty prompt, too many positions, an unknown token; CancelledError
   */
  async generate(parameters: Float32Array, requests: readonly GenerationRequest[], control: GenerationControl): Promise<Completion[]> {
    const weights = parameterFeeds(this.config, parameters);
    const completions: Completion[] = [];
    for (const indices of this.capacityClasses(requests)) {
      await new Wave(this.config, this.prefill, this.decode, weights, requests, indices, control, completions).run();
    }
    return completions;
  }

  async release(): Promise<void> {
    await this.prefill.release();
    await this.decode.release();
  }

  /** Request indices grouped by the slots that they need, so that short rows do not carry long caches. */
  private capacityClasses(requests: readonly GenerationRequest[]): number[][] {
    const classes = new Map<number, number[]>();
    requests.forEach((request, index) => {
      const needed = request.prompt.length + request.maxNewTokens;
      if (request.prompt.length === 0) throw new C3Error('input', `Request ${String(index)} has an empty prompt; give at least one token.`);
      if (request.maxNewTokens < 1) throw new C3Error('input', `Request ${String(index)} asks for no new tokens; set max_new_tokens to at least 1.`);
      checkTokens(this.config, request.prompt, `Request ${String(index)}`);
      if (needed > this.config.maxPositions) {
        throw new C3Error(
          'input',
          `Request ${String(index)} needs ${String(needed)} positions where the model has ${String(this.config.maxPositions)}; shorten the prompt or lower max_new_tokens.`,
        );
      }
      const key = roundUp(needed, 4 * SLOT_MULTIPLE);
      const members = classes.get(key);
      if (members === undefined) classes.set(key, [index]);
      else members.push(index);
    });
    return [...classes.entries()].sort(([a], [b]) => a - b).map(([, members]) => members);
  }
}

/** One batch over requests of similar length. */
class Wave {
  private readonly config: TransformerConfig;
  private readonly prefill: Session;
  private readonly decode: Session;
  private readonly weights: Readonly<Record<string, Tensor>>;
  private readonly control: GenerationControl;
  private readonly completions: Completion[];
  private readonly requests: readonly GenerationRequest[];
  /** Waiting request indices; those of one prompt and temperature stand together. */
  private readonly waiting: number[][];
  private readonly slots: number;
  private readonly capacity: number;
  /** Per layer: keys and values, [capacity, key-value heads, slots, head width]. */
  private readonly cache: readonly { readonly keys: Float32Array; readonly values: Float32Array }[];
  private readonly rows: Row[] = [];

  constructor(
    config: TransformerConfig,
    prefill: Session,
    decode: Session,
    weights: Readonly<Record<string, Tensor>>,
    requests: readonly GenerationRequest[],
    indices: readonly number[],
    control: GenerationControl,
    completions: Completion[],
  ) {
    this.config = config;
    this.prefill = prefill;
    this.decode = decode;
    this.weights = weights;
    this.control = control;
    this.completions = completions;
    this.requests = requests;
    this.waiting = groupByPrompt(requests, indices);
    const longest = Math.max(...indices.map((index) => this.request(index).prompt.length + this.request(index).maxNewTokens));
    this.slots = roundUp(longest, SLOT_MULTIPLE);
    const rowBytes = 8 * config.layers * this.rowLength;
    this.capacity = Math.max(2, Math.min(MAX_ROWS, indices.length, Math.floor(MAX_CACHE_BYTES / rowBytes)));
    this.cache = Array.from({ length: config.layers }, () => ({
      keys: new Float32Array(this.capacity * this.rowLength),
      values: new Float32Array(this.capacity * this.rowLength),
    }));
  }

  async run(): Promise<void> {
    while (this.waiting.length > 0 || this.rows.length > 0) {
      this.stopIfCancelled();
      if (this.waiting.length > 0 && this.rows.length <= this.capacity / 2) await this.admit();
      else await this.step();
    }
  }

  private request(index: number): GenerationRequest {
    const request = this.requests[index];
    if (request === undefined) throw new Error(`No request ${String(index)}.`);
    return request;
  }

  private get rowLength(): number {
    return this.config.keyValueHeads * this.slots * this.config.headDim;
  }

  private stopIfCancelled(): void {
    if (this.control.cancelled()) throw new CancelledError();
  }

  /** Prefills waiting prompts while rows are free, and samples each new row's first token. */
  private async admit(): Promise<void> {
    const groups: number[][] = [];
    let free = this.capacity - this.rows.length;
    let tokens = 0;
    for (let group = this.waiting[0]; group !== undefined && free > 0; group = this.waiting[0]) {
      const length = this.request(group[0] ?? 0).prompt.length;
      if (groups.length > 0 && tokens + length > MAX_PREFILL_TOKENS) break;
      // A group larger than the free rows is split; its rest is prefilled again when rows are free.
      const taken = group.splice(0, free);
      if (group.length === 0) this.waiting.shift();
      groups.push(taken);
      free -= taken.length;
      tokens += length;
    }
    const outputs = await this.runPrefill(groups.map((group) => this.request(group[0] ?? 0)));
    const logprobs = floatData(outputs.result, 'logprobs');
    groups.forEach((group, prompt) => {
      group.forEach((index, sibling) => {
        this.admitRow(index, sibling > 0, outputs, prompt);
        this.appendToken(this.rows.length - 1, logprobs, prompt);
      });
    });
    this.removeFinished();
  }

  private admitRow(index: number, reused: boolean, outputs: { result: Outputs; time: number }, prompt: number): void {
    const request = this.request(index);
    const { keyValueHeads, headDim } = this.config;
    const row = this.rows.length;
    this.cache.forEach((layer, number) => {
      const names = cacheNames(number);
      for (const part of ['keys', 'values'] as const) {
        const source = floatData(outputs.result, `fresh_${names[part]}`);
        for (let head = 0; head < keyValueHeads; head++) {
          const from = (prompt * keyValueHeads + head) * outputs.time * headDim;
          layer[part].set(source.subarray(from, from + request.prompt.length * headDim), row * this.rowLength + head * this.slots * headDim);
        }
      }
    });
    this.rows.push({
      request,
      index,
      stream: request.temperature === 0 ? undefined : new Stream(request.streamKey),
      reused,
      tokens: new Int32Array(request.maxNewTokens),
      logprobs: new Float32Array(request.maxNewTokens),
      length: 0,
    });
  }

  private async runPrefill(prompts: readonly GenerationRequest[]): Promise<{ result: Outputs; time: number }> {
    const time = roundUp(Math.max(...prompts.map(({ prompt }) => prompt.length)), SLOT_MULTIPLE);
    const count = prompts.length;
    const tokens = new BigInt64Array(count * time);
    const positions = new BigInt64Array(count * time);
    const segments = new BigInt64Array(count * time).fill(-1n);
    // Two predicted rows at least: a matrix product of one row takes another kernel.
    const last = new BigInt64Array(Math.max(2, count));
    const temperature = new Float32Array(last.length).fill(1);
    prompts.forEach((request, row) => {
      request.prompt.forEach((token, position) => {
        tokens[row * time + position] = BigInt(token);
        positions[row * time + position] = BigInt(position);
        segments[row * time + position] = 0n;
      });
      last[row] = BigInt(row * time + request.prompt.length - 1);
      temperature[row] = request.temperature === 0 ? 1 : request.temperature;
    });
    const result = await this.prefill.run({
      ...this.weights,
      tokens: longs(tokens, [count, time]),
      positions: longs(positions, [count, time]),
      segments: longs(segments, [count, time]),
      slots: longs(counting(time), [time]),
      last: longs(last, [last.length]),
      temperature: floats(temperature, [last.length, 1]),
    });
    return { result, time };
  }

  /** Decodes one token for every row. */
  private async step(): Promise<void> {
    const count = Math.max(2, this.rows.length);
    const tokens = new BigInt64Array(count);
    const positions = new BigInt64Array(count);
    const temperature = new Float32Array(count).fill(1);
    this.rows.forEach((row, index) => {
      tokens[index] = BigInt(row.tokens[row.length - 1] ?? 0);
      positions[index] = BigInt(row.request.prompt.length + row.length - 1);
      if (row.request.temperature !== 0) temperature[index] = row.request.temperature;
    });
    const { keyValueHeads, headDim } = this.config;
    const feeds: Record<string, Tensor> = {
      ...this.weights,
      tokens: longs(tokens, [count, 1]),
      positions: longs(positions, [count, 1]),
      slots: longs(counting(this.slots), [this.slots]),
      temperature: floats(temperature, [count, 1]),
    };
    this.cache.forEach((layer, number) => {
      const names = cacheNames(number);
      for (const part of ['keys', 'values'] as const) {
        feeds[names[part]] = floats(layer[part].subarray(0, count * this.rowLength), [count, keyValueHeads, this.slots, headDim]);
      }
    });
    const result = await this.decode.run(feeds);
    this.storeFresh(result, positions);
    const logprobs = floatData(result, 'logprobs');
    for (let row = 0; row < this.rows.length; row++) this.appendToken(row, logprobs, row);
    this.removeFinished();
  }

  private storeFresh(result: Outputs, positions: BigInt64Array): void {
    const { keyValueHeads, headDim } = this.config;
    this.cache.forEach((layer, number) => {
      const names = cacheNames(number);
      for (const part of ['keys', 'values'] as const) {
        const fresh = floatData(result, `fresh_${names[part]}`);
        for (let row = 0; row < this.rows.length; row++) {
          const slot = Number(positions[row]);
          for (let head = 0; head < keyValueHeads; head++) {
            const from = (row * keyValueHeads + head) * headDim;
            layer[part].set(fresh.subarray(from, from + headDim), row * this.rowLength + (head * this.slots + slot) * headDim);
          }
        }
      }
    });
  }

  private appendToken(rowIndex: number, logprobs: Float32Array, source: number): void {
    const row = this.rows[rowIndex];
    if (row === undefined) return;
    const width = this.config.vocabularySize;
    const distribution = logprobs.subarray(source * width, (source + 1) * width);
    const token = sampleToken(distribution, row.request, row.stream?.uniform(row.length) ?? 0);
    row.tokens[row.length] = token;
    row.logprobs[row.length] = distribution[token] ?? 0;
    row.length++;
  }

  /** Hands out completed rows and closes the gaps with rows from the end. */
  private removeFinished(): void {
    for (let index = this.rows.length - 1; index >= 0; index--) {
      const row = this.rows[index];
      if (row === undefined) continue;
      const ended = row.tokens[row.length - 1] === row.request.endToken;
      if (!ended && row.length < row.request.maxNewTokens) continue;
      const completion: Completion = {
        tokens: row.tokens.slice(0, row.length),
        logprobs: row.logprobs.slice(0, row.length),
        finish: ended ? 'end' : 'length',
        promptTokens: row.request.prompt.length,
        reusedTokens: row.reused ? row.request.prompt.length : 0,
      };
      this.completions[row.index] = completion;
      this.control.onCompletion?.(row.index, completion);
      const moved = this.rows.pop();
      if (moved === undefined || moved === row) continue;
      const from = this.rows.length * this.rowLength;
      for (const layer of this.cache) {
        layer.keys.copyWithin(index * this.rowLength, from, from + this.rowLength);
        layer.values.copyWithin(index * this.rowLength, from, from + this.rowLength);
      }
      this.rows[index] = moved;
    }
  }
}

function groupByPrompt(requests: readonly GenerationRequest[], indices: readonly number[]): number[][] {
  const groups = new Map<string, number[]>();
  for (const index of indices) {
    const request = requests[index];
    if (request === undefined) continue;
    const key = `${String(request.temperature)}:${request.prompt.join(',')}`;
    const members = groups.get(key);
    if (members === undefined) groups.set(key, [index]);
    else members.push(index);
  }
  return [...groups.values()];
}

/** 0, 1, ... length - 1. */
export function counting(length: number): BigInt64Array {
  return BigInt64Array.from({ length }, (_, index) => BigInt(index));
}

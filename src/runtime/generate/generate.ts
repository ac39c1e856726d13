/** Continuous batching: distinct prompts are prefilled once, and waiting rows replace ended ones. */

import type { AbortFlag } from '../../shared/cancellation.ts';
import { findTraits } from '../../shared/devices.ts';
import { C3Error, CancelledError } from '../../shared/errors.ts';
import type { DeviceWeights } from '../model/deviceWeights.ts';
import type { PolicyWeights } from '../model/lora.ts';
import { checkTokens, type TransformerConfig } from '../model/transformer.ts';
import { Stream } from '../random.ts';
import type { DeviceSettings } from '../session/session.ts';
import { MAX_PREFILL_TOKENS, countRowsTogether } from './bounds.ts';
import { DecodeSessions } from './decodeSessions.ts';
import { DeviceSessions } from './deviceSessions.ts';
import { CacheMemory } from './keyValueCache.ts';
import type { Decoder, RowBatch } from './rowBatch.ts';
import { sampleToken, type TokenSampling } from './sample.ts';

export interface GenerationRequest extends TokenSampling {
  /** The role that speaks, which may have its own adapter. Undefined: the weights of the whole team. */
  readonly role?: string;
  readonly prompt: Int32Array;
  readonly maxNewTokens: number;
  /** The token that ends a message. It is part of the completion. */
  readonly endToken: number;
  /** Further tokens that end a message. */
  readonly otherEndTokens?: readonly number[];
  /** 32 hex digits; unused if the temperature is 0. */
  readonly streamKey: string;
  /** True if each token is reported as soon as it is chosen. */
  readonly followed?: boolean;
}

export interface Completion {
  readonly tokens: Int32Array;
  /** Log-probability of each token under the full softmax at the temperature (1 if greedy). */
  readonly logprobs: Float32Array;
  readonly finish: 'end' | 'length';
  readonly promptTokens: number;
  /** Prompt tokens taken from another row's prefill. */
  readonly reusedTokens: number;
}

export interface GenerationControl {
  /** True if the caller wants generation to stop. It is read between steps. */
  readonly signal: AbortFlag;
  readonly onCompletion?: (index: number, completion: Completion) => void;
  /** Receives each token of a followed request as soon as it is chosen. */
  readonly onToken?: (index: number, token: number, logprob: number) => void;
}

interface Row {
  readonly request: GenerationRequest;
  readonly index: number;
  readonly stream: Stream | undefined;
  /** Prompt tokens that were computed for another row. */
  readonly reused: number;
  readonly tokens: Int32Array;
  readonly logprobs: Float32Array;
  length: number;
}

/** A prefilled prompt, and the requests with this prompt that wait for a row. */
interface KeptPrompt {
  /** Indices of requests. */
  readonly group: number[];
  /** Index of the prompt among those that were prefilled together. */
  readonly prompt: number;
  readonly logprobs: Float32Array;
}

/** Compiled generation graphs of one architecture; weights are given with every call. */
export class Generator {
  readonly config: TransformerConfig;
  private readonly decoder: Decoder;
  private readonly memory: CacheMemory;

  private constructor(decoder: Decoder, memory: CacheMemory) {
    this.config = decoder.config;
    this.decoder = decoder;
    this.memory = memory;
  }

  /**
   * @param weights parameters on the device that a trainer shares
   * @param memory of the key-value cache; generators that never work at the same time may share it
   */
  static async create(
    config: TransformerConfig,
    device: DeviceSettings,
    weights?: DeviceWeights,
    memory = new CacheMemory(),
  ): Promise<Generator> {
    const { accelerator } = findTraits(device);
    return new Generator(
      accelerator
        ? await DeviceSessions.create(config, device, weights)
        : await DecodeSessions.create(config, device, memory),
      memory,
    );
  }

  /**
   * Answers every request, in the given order.
   * @throws C3Error('input') if a request cannot be answered: an empty prompt, too many positions, an
   *   unknown token
   * @throws CancelledError
   */
  async generate(
    weights: PolicyWeights,
    requests: readonly GenerationRequest[],
    control: GenerationControl,
  ): Promise<Completion[]> {
    requests.forEach((request, index) => checkRequest(this.config, request, `Request ${index}`));
    if (requests.length === 0) {
      return [];
    }
    const slots = Math.max(...requests.map(({ prompt, maxNewTokens }) => prompt.length + maxNewTokens));
    const capacity = countRowsTogether(this.config, requests.length, slots, this.memory.limit);
    const batch = await this.decoder.batch(weights, capacity, slots);
    try {
      return await new GenerationRun(requests, batch, capacity, this.config.vocabularySize, control).run();
    } finally {
      batch.release();
      this.memory.trim();
    }
  }

  async release(): Promise<void> {
    await this.decoder.release();
  }
}

/**
 * @throws C3Error('input') if a request cannot be answered: an empty prompt, too many positions, an
 *   unknown token
 */
export function checkRequest(
  config: TransformerConfig,
  { prompt, maxNewTokens }: Pick<GenerationRequest, 'prompt' | 'maxNewTokens'>,
  place: string,
): void {
  const needed = prompt.length + maxNewTokens;
  if (prompt.length === 0) {
    throw new C3Error('input', `${place} has an empty prompt; give at least one token.`);
  }
  if (maxNewTokens < 1) {
    throw new C3Error('input', `${place} asks for no new tokens; set max_new_tokens to at least 1.`);
  }
  checkTokens(config, prompt, place);
  if (needed > config.maxPositions) {
    throw new C3Error(
      'input',
      `${place} needs ${needed} positions where the model has ${config.maxPositions}; shorten the prompt or lower max_new_tokens.`,
    );
  }
}

/** One call of `generate`: rows leave when they end, and waiting prompts take their places. */
class GenerationRun {
  private readonly requests: readonly GenerationRequest[];
  private readonly batch: RowBatch;
  private readonly capacity: number;
  private readonly vocabularySize: number;
  private readonly control: GenerationControl;
  private readonly completions: Completion[] = [];
  /** Indices of waiting requests, grouped by prompt and temperature. */
  private readonly waiting: number[][];
  private readonly rows: Row[] = [];
  /** The prefilled prompt of the first waiting group, if some of its requests had no free row. */
  private kept: KeptPrompt | null = null;
  /** True while free rows are filled. Filling starts when half of them are free. */
  private filling = true;

  constructor(
    requests: readonly GenerationRequest[],
    batch: RowBatch,
    capacity: number,
    vocabularySize: number,
    control: GenerationControl,
  ) {
    this.requests = requests;
    this.batch = batch;
    this.capacity = capacity;
    this.vocabularySize = vocabularySize;
    this.control = control;
    this.waiting = groupByPrompt(requests);
  }

  async run(): Promise<Completion[]> {
    while (this.waiting.length > 0 || this.rows.length > 0) {
      if (this.control.signal.aborted) {
        throw new CancelledError();
      }
      const filling =
        this.waiting.length > 0 &&
        (this.filling || this.rows.length <= this.capacity / 2) &&
        this.rows.length < this.capacity;
      this.filling = filling;
      if (filling) {
        await this.admit();
      } else {
        await this.step();
      }
    }
    return this.completions;
  }

  private request(index: number): GenerationRequest {
    const request = this.requests[index];
    if (request === undefined) {
      throw new Error(`No request ${index}.`);
    }
    return request;
  }

  /** Prefills waiting prompts while rows are free, and samples the first token of each new row. */
  private async admit(): Promise<void> {
    this.admitKept();
    const groups: number[][] = [];
    let free = this.capacity - this.rows.length;
    let longest = 0;
    let split: number[] | null = null;
    for (let group = this.waiting[0]; group !== undefined && free > 0; group = this.waiting[0]) {
      longest = Math.max(longest, this.request(group[0] ?? 0).prompt.length);
      if (groups.length > 0 && (groups.length + 1) * longest > MAX_PREFILL_TOKENS) {
        break;
      }
      const taken = group.splice(0, free);
      if (group.length === 0) {
        this.waiting.shift();
      } else {
        split = group;
      }
      groups.push(taken);
      free -= taken.length;
    }
    if (groups.length > 0) {
      const first = groups.map((group) => this.request(group[0] ?? 0));
      const { logprobs, reused } = await this.batch.prefill(
        first.map(({ prompt }) => prompt),
        first.map(logprobTemperature),
      );
      groups.forEach((group, prompt) => {
        group.forEach((index, sibling) => {
          this.admitRow(index, sibling > 0 ? this.request(index).prompt.length : (reused[prompt] ?? 0), prompt);
          this.appendToken(this.rows.length - 1, logprobs, prompt);
        });
      });
      this.kept =
        split !== null && this.batch.keepsPrefilled ? { group: split, prompt: groups.length - 1, logprobs } : null;
    }
    this.removeFinished();
  }

  /** Admits requests whose prompt was prefilled for others of their group. */
  private admitKept(): void {
    if (this.kept === null) {
      return;
    }
    const { group, prompt, logprobs } = this.kept;
    for (const index of group.splice(0, this.capacity - this.rows.length)) {
      this.admitRow(index, this.request(index).prompt.length, prompt);
      this.appendToken(this.rows.length - 1, logprobs, prompt);
    }
    if (group.length === 0) {
      this.waiting.shift();
      this.kept = null;
    }
  }

  private admitRow(index: number, reused: number, prompt: number): void {
    const request = this.request(index);
    this.batch.admit(this.rows.length, prompt, request.prompt.length);
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

  private async step(): Promise<void> {
    for (let index = 0; index < this.rows.length; index++) {
      const row = this.rows[index];
      if (row !== undefined) {
        this.batch.set(
          index,
          row.tokens[row.length - 1] ?? 0,
          row.request.prompt.length + row.length - 1,
          logprobTemperature(row.request),
        );
      }
    }
    const logprobs = await this.batch.step(this.rows.length);
    for (let row = 0; row < this.rows.length; row++) {
      this.appendToken(row, logprobs, row);
    }
    this.removeFinished();
  }

  private appendToken(rowIndex: number, logprobs: Float32Array, source: number): void {
    const row = this.rows[rowIndex];
    if (row === undefined) {
      return;
    }
    const distribution = logprobs.subarray(source * this.vocabularySize, (source + 1) * this.vocabularySize);
    const token = sampleToken(distribution, row.request, row.stream?.uniform(row.length) ?? 0);
    row.tokens[row.length] = token;
    const logprob = distribution[token] ?? 0;
    row.logprobs[row.length] = logprob;
    row.length++;
    if (row.request.followed === true) {
      this.control.onToken?.(row.index, token, logprob);
    }
  }

  /** Reports completed rows and closes the gaps with rows from the end. */
  private removeFinished(): void {
    for (let index = this.rows.length - 1; index >= 0; index--) {
      const row = this.rows[index];
      if (row === undefined) {
        continue;
      }
      const ended = isEndToken(row.request, row.tokens[row.length - 1]);
      if (!ended && row.length < row.request.maxNewTokens) {
        continue;
      }
      const completion: Completion = {
        tokens: row.tokens.slice(0, row.length),
        logprobs: row.logprobs.slice(0, row.length),
        finish: ended ? 'end' : 'length',
        promptTokens: row.request.prompt.length,
        reusedTokens: row.reused,
      };
      this.completions[row.index] = completion;
      this.control.onCompletion?.(row.index, completion);
      const moved = this.rows.pop();
      if (moved === undefined || moved === row) {
        continue;
      }
      this.batch.move(this.rows.length, index);
      this.rows[index] = moved;
    }
  }
}

const isEndToken = ({ endToken, otherEndTokens = [] }: GenerationRequest, token: number | undefined): boolean =>
  token !== undefined && (token === endToken || otherEndTokens.includes(token));

/** Returns the temperature of the log-probabilities. Greedy tokens are reported at temperature 1. */
const logprobTemperature = ({ temperature }: GenerationRequest): number => (temperature === 0 ? 1 : temperature);

/** Groups request indices by prompt and temperature, short prompts first, so similar rows run together. */
function groupByPrompt(requests: readonly GenerationRequest[]): number[][] {
  const groups = new Map<string, number[]>();
  for (const [index, request] of requests.entries()) {
    const key = `${request.temperature}:${request.prompt.join(',')}`;
    const members = groups.get(key);
    if (members === undefined) {
      groups.set(key, [index]);
    } else {
      members.push(index);
    }
  }
  const length = (group: readonly number[]): number => requests[group[0] ?? 0]?.prompt.length ?? 0;
  return [...groups.values()].sort((a, b) => length(a) - length(b));
}

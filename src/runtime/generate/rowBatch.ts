/** Rows that are decoded together, with their key-value cache in ordinary or in device memory. */

import type { PolicyWeights } from '../model/lora.ts';
import type { TransformerConfig } from '../model/transformer.ts';
import { floatTensor, int32Tensor, type Feeds } from '../session/session.ts';
import { roundUp, rowFeeds, TIME_MULTIPLE } from '../train/graph/pack.ts';
import type { PrefixGroup } from './sharedPrefixes.ts';

/** Compiled generation graphs of one architecture on one device. */
export interface Decoder {
  readonly config: TransformerConfig;
  /**
   * Creates an empty batch.
   * @param weights with an adapter if the architecture has one
   * @param capacity rows, at least two: a matrix product of one row uses another kernel
   * @param slots positions of the longest possible row
   */
  batch(weights: PolicyWeights, capacity: number, slots: number): Promise<RowBatch>;
  release(): Promise<void>;
}

export interface Prefilled {
  /** Log-probabilities of the next token of each prompt, [prompts (2 at least), vocabulary]. */
  readonly logprobs: Float32Array;
  /** Number of tokens of each prompt that were computed for another prompt. */
  readonly reused: readonly number[];
}

export interface RowBatch {
  /** True if the prompts prefilled last can still be admitted after a step. */
  readonly keepsPrefilled: boolean;
  /**
   * Runs whole prompts. Rows can be admitted from the result until the next prefill, or until the next
   * step if `keepsPrefilled` is false.
   */
  prefill(prompts: readonly Int32Array[], temperatures: readonly number[]): Promise<Prefilled>;
  /**
   * Gives a row the cache of a prefilled prompt.
   * @param prompt index of the prompt in the last prefill
   * @param length tokens of the prompt
   */
  admit(row: number, prompt: number, length: number): void;
  /** Sets the input of a row: a token, its position and the temperature of the token after it. */
  set(row: number, token: number, position: number, temperature: number): void;
  /** Moves the row `from` to the place of the row `to`. */
  move(from: number, to: number): void;
  /**
   * Decodes one step from the tokens that were set for the first `rows` rows.
   * @returns the log-probabilities of the next tokens, [rows (2 at least), vocabulary]
   */
  step(rows: number): Promise<Float32Array>;
  release(): void;
}

/**
 * The slots of a prompt's keys and values after prefill: its first `prefix` tokens from slot 0 of a
 * row on, the others from slot `start` on.
 */
export interface PromptPlace {
  readonly row: number;
  readonly prefix: number;
  readonly start: number;
}

export interface PrefillPlan {
  /** The inputs of the prefill graph except the weights. */
  readonly feeds: Feeds;
  /** Slots of each row. */
  readonly time: number;
  /** One per prompt. */
  readonly places: readonly PromptPlace[];
  /** Number of tokens of each prompt that are computed for another prompt. */
  readonly reused: readonly number[];
}

/**
 * Lays out prompts in rows.
 * @param groups prompts that share a row, by index, and the length of their common prefix; see
 *   `groupBySharedPrefix`
 */
export function planPrefill(
  prompts: readonly Int32Array[],
  temperatures: readonly number[],
  groups: readonly PrefixGroup[],
): PrefillPlan {
  const time = roundUp(Math.max(...groups.map(({ length }) => length)), TIME_MULTIPLE);
  const tokens = new Int32Array(groups.length * time);
  const positions = new BigInt64Array(groups.length * time);
  const segments = new Int32Array(groups.length * time).fill(-1);
  // At least two predicted rows: a matrix product of one row uses another kernel.
  const last = new Int32Array(Math.max(2, prompts.length));
  const temperature = new Float32Array(last.length).fill(1);
  const places: PromptPlace[] = [];
  const reused: number[] = [];
  groups.forEach(({ members, prefix }, row) => {
    let slot = row * time;
    const put = (prompt: Int32Array, from: number, to: number, segment: number): void => {
      for (let position = from; position < to; position++, slot++) {
        tokens[slot] = prompt[position] ?? 0;
        positions[slot] = BigInt(position);
        segments[slot] = segment;
      }
    };
    members.forEach((index, member) => {
      const prompt = prompts[index] ?? new Int32Array();
      if (member === 0) {
        put(prompt, 0, prefix, 0);
      }
      places[index] = { row, prefix, start: slot - row * time };
      reused[index] = member === 0 ? 0 : prefix;
      put(prompt, prefix, prompt.length, member + 1);
      last[index] = slot - 1;
      temperature[index] = temperatures[index] ?? 1;
    });
  });
  const feeds = {
    ...rowFeeds(tokens, positions, segments, groups.length, time),
    last: int32Tensor(last, [last.length]),
    temperature: floatTensor(temperature, [last.length, 1]),
  };
  return { feeds, time, places, reused };
}

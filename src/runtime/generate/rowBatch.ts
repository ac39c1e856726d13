/** Rows that are decoded together, wherever their key-value cache lies. */
import type { PolicyWeights } from '../model/lora.ts';
import type { TransformerConfig } from '../model/transformer.ts';
import { floats, ints, type Feeds } from '../session/session.ts';
import { roundUp, rowFeeds, TIME_MULTIPLE } from '../train/graph/pack.ts';
import type { PrefixGroup } from './sharedPrefixes.ts';

/** Compiled generation graphs of one architecture on one device. */
export interface Decoder {
  readonly config: TransformerConfig;
  /**
   * An empty batch.
   * @param weights with an adapter where the architecture has one
   * @param capacity rows, two at least: a matrix product of one row takes another kernel
   * @param slots positions of the longest row that may come
   */
  batch(weights: PolicyWeights, capacity: number, slots: number): Promise<RowBatch>;
  release(): Promise<void>;
}

/** What prefill says of its prompts. */
export interface Prefilled {
  /** Log-probabilities of what follows each, [prompts (2 at least), vocabulary]. */
  readonly logprobs: Float32Array;
  /** Tokens of each prompt that were computed for another one. */
  readonly reused: readonly number[];
}

export interface RowBatch {
  /** Whether what was prefilled last can be admitted after a step, too. */
  readonly keepsPrefilled: boolean;
  /**
   * Runs whole prompts. Rows can be admitted from what it computed until the next call, or until the next step where it
   * is not kept.
   */
  prefill(prompts: readonly Int32Array[], temperatures: readonly number[]): Promise<Prefilled>;
  /** Gives a row the cache of a prefilled prompt: its number and its length. */
  admit(row: number, prompt: number, length: number): void;
  /** Says what a row reads next: a token, its position and the temperature of what follows. */
  set(row: number, token: number, position: number, temperature: number): void;
  /** Moves the row `from` to the place of the row `to`. */
  move(from: number, to: number): void;
  /**
   * Reads the tokens that were set for the first `rows` rows.
   * @returns the log-probabilities of what follows, [rows (2 at least), vocabulary]
   */
  step(rows: number): Promise<Float32Array>;
  /** Gives the cache back. */
  release(): void;
}

/**
 * Where the keys and values of a prompt lie after prefill: its first `prefix` tokens from slot 0 of a row on, the
 * others from slot `start` on.
 */
export interface PromptPlace {
  readonly row: number;
  readonly prefix: number;
  readonly start: number;
}

export interface PrefillPlan {
  /** The inputs of the prefill graph beside the weights. */
  readonly feeds: Feeds;
  /** Slots of each row. */
  readonly time: number;
  /** One per prompt. */
  readonly places: readonly PromptPlace[];
  /** Tokens of each prompt that another prompt's row computes. */
  readonly reused: readonly number[];
}

/**
 * Lays prompts out in rows.
 * @param groups prompts that share a row, by their indices, with the length of what they have in common; see
 *   `sharedPrefixes`
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
  // Two predicted rows at least: a matrix product of one row takes another kernel.
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
    last: ints(last, [last.length]),
    temperature: floats(temperature, [last.length, 1]),
  };
  return { feeds, time, places, reused };
}

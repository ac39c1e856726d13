/** Rows that are decoded together, wherever their key-value cache lies. */
import { roundUp, rowFeeds, TIME_MULTIPLE } from './pack.ts';
import { floats, ints, type Feeds } from './session.ts';
import type { TransformerConfig } from './transformer.ts';

/** Compiled generation graphs of one architecture on one device. */
export interface Decoder {
  readonly config: TransformerConfig;
  /**
   * An empty batch.
   * @param parameters never changed again
   * @param capacity rows, two at least: a matrix product of one row takes another kernel
   * @param slots positions of the longest row that may come
   */
  batch(parameters: Float32Array, capacity: number, slots: number): Promise<RowBatch>;
  release(): Promise<void>;
}

export interface RowBatch {
  /** Runs whole prompts; `admit` gives rows what it computed, until the next call. @returns log-probabilities of what follows each, [prompts (2 at least), vocabulary] */
  prefill(prompts: readonly Int32Array[], temperatures: readonly number[]): Promise<Float32Array>;
  /** Gives a row the cache of a prefilled prompt: its number and its length. */
  admit(row: number, prompt: number, length: number): void;
  /** Says what a row reads next: a token, its position and the temperature of what follows. */
  set(row: number, token: number, position: number, temperature: number): void;
  /** Moves the row `from` to the place of the row `to`. */
  move(from: number, to: number): void;
  /** Reads the tokens that were set for the first `rows` rows. @returns the log-probabilities of what follows, [rows (2 at least), vocabulary] */
  step(rows: number): Promise<Float32Array>;
  /** Gives the cache back. */
  release(): void;
}

/** The inputs of the prefill graph beside the weights, and the slots of each row. */
export function prefillFeeds(prompts: readonly Int32Array[], temperatures: readonly number[]): { readonly feeds: Feeds; readonly time: number } {
  const time = roundUp(Math.max(...prompts.map(({ length }) => length)), TIME_MULTIPLE);
  const count = prompts.length;
  const tokens = new Int32Array(count * time);
  const positions = new BigInt64Array(count * time);
  const segments = new Int32Array(count * time).fill(-1);
  // Two predicted rows at least: a matrix product of one row takes another kernel.
  const last = new Int32Array(Math.max(2, count));
  const temperature = new Float32Array(last.length).fill(1);
  prompts.forEach((prompt, row) => {
    tokens.set(prompt, row * time);
    segments.fill(0, row * time, row * time + prompt.length);
    for (let position = 0; position < prompt.length; position++) positions[row * time + position] = BigInt(position);
    last[row] = row * time + prompt.length - 1;
    temperature[row] = temperatures[row] ?? 1;
  });
  const feeds = { ...rowFeeds(tokens, positions, segments, count, time), last: ints(last, [last.length]), temperature: floats(temperature, [last.length, 1]) };
  return { feeds, time };
}

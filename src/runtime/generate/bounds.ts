/** Limits on the rows and tokens that are generated together. */

import type { TransformerConfig } from '../model/transformer.ts';

/** Largest number of rows that are decoded together. */
const MAX_ROWS = 256;
/** Largest number of prompt tokens that are prefilled together. */
export const MAX_PREFILL_TOKENS = 4096;
/** Bytes that the key-value cache may take if nothing is known about free memory. */
export const LEAST_CACHE_BYTES = 256 * 2 ** 20;

/** Bytes of one slot of one row in the key-value cache. */
export const cacheSlotBytes = ({ layers, keyValueHeads, headDim }: TransformerConfig): number =>
  2 * Float32Array.BYTES_PER_ELEMENT * layers * keyValueHeads * headDim;

/**
 * Returns the number of rows that are decoded together: at least two, even if they exceed `bytes`.
 * @param rows requested number of rows
 * @param slots of the longest row
 * @param bytes that the key-value cache may take
 */
export const countRowsTogether = (config: TransformerConfig, rows: number, slots: number, bytes: number): number =>
  Math.max(2, Math.min(MAX_ROWS, rows, Math.floor(bytes / (cacheSlotBytes(config) * slots))));

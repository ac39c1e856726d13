/** How much is generated together. */
import type { TransformerConfig } from '../model/transformer.ts';

/** Rows decoded together at most. */
const MAX_ROWS = 256;
/** Prompt tokens read together at most. */
export const MAX_PREFILL_TOKENS = 4096;
/** Bytes that the key-value cache may take unless more is known to be free. */
export const LEAST_CACHE_BYTES = 256 * 2 ** 20;

/** Bytes of one slot of one row in the key-value cache. */
export const slotBytes = ({ layers, keyValueHeads, headDim }: TransformerConfig): number =>
  2 * Float32Array.BYTES_PER_ELEMENT * layers * keyValueHeads * headDim;

/**
 * How many rows are decoded together: two at least, whatever they take.
 * @param rows that are asked for
 * @param slots of the longest row
 * @param bytes that the key-value cache may take
 */
export const rowsTogether = (config: TransformerConfig, rows: number, slots: number, bytes: number): number =>
  Math.max(2, Math.min(MAX_ROWS, rows, Math.floor(bytes / (slotBytes(config) * slots))));

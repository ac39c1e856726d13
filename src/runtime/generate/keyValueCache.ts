/** The keys and values of rows that are decoded together, in memory that ONNX Runtime reads directly. */

import type { Tensor } from 'onnxruntime-node';
import { HIDDEN } from '../graph/ops/attention.ts';
import type { TransformerConfig } from '../model/transformer.ts';
import { floatTensor } from '../session/session.ts';
import { roundUp } from '../train/graph/pack.ts';
import { LEAST_CACHE_BYTES } from './bounds.ts';
import type { PromptPlace } from './rowBatch.ts';

/** The number of slots is a multiple of this. Few are spare, because a step reads every slot. */
const SLOT_MULTIPLE = 16;

interface Layer {
  /** [capacity, key-value heads, slots, width]. The memory has room for the largest number of slots. */
  readonly keys: Float32Array;
  readonly values: Float32Array;
}

/**
 * Allocated elements per requested element. The next cache is often a little longer, and memory that
 * was written before is much faster than new memory. Memory that is never written takes no space.
 */
const HEADROOM = 1.25;

/** Memory that is allocated once for many caches. Only one cache may use it at a time. */
export class CacheMemory {
  /** Bytes that the rows of a call may take. It limits the number of rows that are decoded together. */
  limit = LEAST_CACHE_BYTES;
  private readonly arrays: Float32Array[] = [];

  /** Frees the arrays of large models. Those of small models are soon needed again. */
  trim(): void {
    const bytes = this.arrays.reduce((sum, { byteLength }) => sum + byteLength, 0);
    if (bytes > 2 * LEAST_CACHE_BYTES) {
      this.arrays.length = 0;
    }
  }

  /** Returns the array with the given number and at least the given length. Its old content stays in it. */
  array(number: number, length: number): Float32Array {
    const known = this.arrays[number];
    if (known !== undefined && known.length >= length) {
      return known;
    }
    const made = new Float32Array(Math.ceil(HEADROOM * length));
    this.arrays[number] = made;
    return made;
  }
}

export class KeyValueCache {
  private readonly heads: number;
  private readonly width: number;
  private readonly capacity: number;
  /** Largest number of slots that a row may need. */
  private readonly limit: number;
  private readonly layers: readonly Layer[];
  private slots = 0;
  /** [capacity, slots], see AttentionMask. */
  private bias = new Float32Array();
  private visible = new Float32Array();
  /** Slots that each row sees. */
  private readonly seen: Int32Array;
  /** Cached feeds of every layer for one number of rows. */
  private fed: { readonly rows: number; readonly layers: readonly Readonly<Record<string, Tensor>>[] } | undefined;

  /** @param limit slots of the longest possible row */
  constructor(config: TransformerConfig, capacity: number, limit: number, memory: CacheMemory) {
    this.heads = config.keyValueHeads;
    this.width = config.headDim;
    this.capacity = capacity;
    this.limit = limit;
    const length = capacity * this.heads * limit * this.width;
    this.layers = Array.from({ length: config.layers }, (_, layer) => ({
      keys: memory.array(2 * layer, length),
      values: memory.array(2 * layer + 1, length),
    }));
    this.seen = new Int32Array(capacity);
  }

  /** Makes room for `needed` slots and keeps the content of the first `rows` rows. */
  reserve(needed: number, rows: number): void {
    if (needed <= this.slots) {
      return;
    }
    const slots = Math.min(this.limit, roundUp(needed, SLOT_MULTIPLE) + SLOT_MULTIPLE);
    const chunk = this.slots * this.width;
    const stride = slots * this.width;
    for (const { keys, values } of this.layers) {
      for (const array of [keys, values]) {
        // Starts at the end, so that nothing is overwritten before it moves. Slots that a row has not written
        // yet must hold finite numbers. A row that is admitted later writes all of its slots.
        for (let place = rows * this.heads - 1; place >= 0; place--) {
          array.copyWithin(place * stride, place * chunk, (place + 1) * chunk);
          array.fill(0, place * stride + chunk, (place + 1) * stride);
        }
      }
    }
    this.slots = slots;
    this.bias = new Float32Array(this.capacity * slots).fill(HIDDEN);
    this.seen.fill(0, rows);
    this.visible = new Float32Array(this.capacity * slots);
    for (let row = 0; row < rows; row++) {
      this.mark(row, 0, this.seen[row] ?? 0, true);
    }
    this.fed = undefined;
  }

  /** Lets a row see its first `slots` slots and no others. */
  show(row: number, slots: number): void {
    const before = this.seen[row] ?? 0;
    if (slots > before) {
      this.mark(row, before, slots, true);
    } else {
      this.mark(row, slots, before, false);
    }
    this.seen[row] = slots;
  }

  private mark(row: number, from: number, to: number, visible: boolean): void {
    const start = row * this.slots;
    this.bias.fill(visible ? 0 : HIDDEN, start + from, start + to);
    this.visible.fill(visible ? 1 : 0, start + from, start + to);
  }

  /** Copies a prefilled prompt from keys and values [rows, heads, time, width] into a row. */
  fill(
    layer: number,
    row: number,
    keys: Float32Array,
    values: Float32Array,
    time: number,
    place: PromptPlace,
    length: number,
  ): void {
    const { heads, slots, width } = this;
    const target = this.layer(layer);
    const { prefix, start } = place;
    for (let head = 0; head < heads; head++) {
      const from = (place.row * heads + head) * time * width;
      const to = (row * heads + head) * slots * width;
      for (const [source, array] of [
        [keys, target.keys],
        [values, target.values],
      ] as const) {
        array.set(source.subarray(from, from + prefix * width), to);
        array.set(source.subarray(from + start * width, from + (start + length - prefix) * width), to + prefix * width);
        array.fill(0, to + length * width, to + slots * width);
      }
    }
  }

  /** Stores one slot per row: keys and values [rows, heads, 1, width] at `positions`. */
  append(layer: number, rows: number, positions: BigInt64Array, keys: Float32Array, values: Float32Array): void {
    const { heads, width, slots } = this;
    const target = this.layer(layer);
    for (let row = 0; row < rows; row++) {
      const slot = Number(positions[row]);
      for (let head = 0; head < heads; head++) {
        const from = (row * heads + head) * width;
        const to = ((row * heads + head) * slots + slot) * width;
        for (let index = 0; index < width; index++) {
          target.keys[to + index] = keys[from + index] ?? 0;
          target.values[to + index] = values[from + index] ?? 0;
        }
      }
    }
  }

  /** Moves the row `from` to the place of the row `to`. */
  move(from: number, to: number): void {
    const length = this.heads * this.slots * this.width;
    for (const { keys, values } of this.layers) {
      keys.copyWithin(to * length, from * length, (from + 1) * length);
      values.copyWithin(to * length, from * length, (from + 1) * length);
    }
    this.show(to, this.seen[from] ?? 0);
  }

  /** Returns the inputs of a stage from one layer's first `rows` rows. */
  feeds(layer: number, rows: number): Readonly<Record<string, Tensor>> {
    if (this.fed?.rows !== rows) {
      this.fed = { rows, layers: this.layers.map((one) => this.tensors(one, rows)) };
    }
    return this.fed.layers[layer] ?? {};
  }

  private tensors({ keys, values }: Layer, rows: number): Readonly<Record<string, Tensor>> {
    const { heads, slots, width } = this;
    const shape = [rows, heads, slots, width];
    const length = rows * heads * slots * width;
    return {
      keys: floatTensor(keys.subarray(0, length), shape),
      values: floatTensor(values.subarray(0, length), shape),
      bias: floatTensor(this.bias.subarray(0, rows * slots), [rows, 1, 1, slots]),
      visible: floatTensor(this.visible.subarray(0, rows * slots), [rows, 1, 1, slots]),
      ones: floatTensor(new Float32Array(2 * slots).fill(1), [slots, 2]),
    };
  }

  private layer(index: number): Layer {
    const layer = this.layers[index];
    if (layer === undefined) {
      throw new Error(`The cache has no layer ${index}.`);
    }
    return layer;
  }
}

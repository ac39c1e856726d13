import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Tensor } from 'onnxruntime-node';
import { CacheMemory, KeyValueCache } from '../../../../src/runtime/generate/keyValueCache.ts';
import { TINY } from '../models.ts';

const ONE = { ...TINY, layers: 1, keyValueHeads: 1, headDim: 1 };
const PLACE = { row: 0, prefix: 0, start: 0 };

/** What the rows of a cache hold, slot by slot. */
function held(cache: KeyValueCache, rows: number): { readonly keys: number[]; readonly values: number[] } {
  const numbers = (tensor: Tensor | undefined): number[] => [...((tensor?.data ?? []) as Float32Array)];
  const { keys, values } = cache.feeds(0, rows);
  return { keys: numbers(keys), values: numbers(values) };
}

function slotsOf(first: number, given: readonly number[], slots: number): number[] {
  return [...given.map((number) => first * number), ...new Array<number>(slots - given.length).fill(0)];
}

describe('CacheMemory', () => {
  it('gives a cache that is a little longer the memory of the one before it', () => {
    const memory = new CacheMemory();
    const first = memory.array(0, 1000);
    assert.equal(memory.array(0, 900), first);
    assert.equal(memory.array(0, 1200), first, 'a fifth more');
    assert.notEqual(memory.array(1, 1000), first, 'another number');
    const longer = memory.array(0, 1300);
    assert.notEqual(longer, first);
    assert.ok(longer.length >= 1300);
  });
});

describe('KeyValueCache', () => {
  it('keeps what rows hold as it grows, and shows nothing of an earlier cache in their new slots', () => {
    const memory = new CacheMemory();
    for (const number of [0, 1]) {
      memory.array(number, 4 * 96).fill(Number.NaN);
    }
    const cache = new KeyValueCache(ONE, 4, 96, memory);
    const admit = (row: number, prompt: readonly number[]): void => {
      cache.reserve(prompt.length, row);
      cache.fill(
        0,
        row,
        Float32Array.from(prompt),
        Float32Array.from(prompt, (number) => -number),
        prompt.length,
        PLACE,
        prompt.length,
      );
    };
    admit(0, [1, 2, 3]);
    admit(1, [4, 5]);
    assert.deepEqual(held(cache, 2), {
      keys: [...slotsOf(1, [1, 2, 3], 32), ...slotsOf(1, [4, 5], 32)],
      values: [...slotsOf(-1, [1, 2, 3], 32), ...slotsOf(-1, [4, 5], 32)].map((number) => number + 0),
    });
    cache.reserve(40, 2);
    const grown = held(cache, 2);
    assert.deepEqual(grown.keys, [...slotsOf(1, [1, 2, 3], 64), ...slotsOf(1, [4, 5], 64)]);
    // A row that comes after the cache has grown, and one that takes the place of another.
    admit(2, [6]);
    cache.move(2, 0);
    assert.deepEqual(held(cache, 3).keys, [...slotsOf(1, [6], 64), ...slotsOf(1, [4, 5], 64), ...slotsOf(1, [6], 64)]);
  });
});

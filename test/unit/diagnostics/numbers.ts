/** Seeded numbers, their moments and comparisons, for tests that simulate. */

import assert from 'node:assert/strict';
import { openStream, uniform } from '../../../src/credit/counter.ts';

/** Numbers in [0, 1), one after the other. */
export function numbers(seed: number): () => number {
  const stream = openStream(seed, 0);
  let position = 0;
  return () => uniform(stream, position++);
}

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
export const variance = (values: readonly number[]): number => mean(values.map((value) => (value - mean(values)) ** 2));
export const near = (actual: number, expected: number, share: number): void =>
  assert.ok(Math.abs(actual / expected - 1) < share, `${actual} is not about ${expected}`);

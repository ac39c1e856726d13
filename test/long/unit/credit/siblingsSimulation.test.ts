/** The interval of a single bucket's credit covers what it claims, because its siblings are draws of the policy. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { creditGroup } from '../../../../src/credit/estimators.ts';
import { Numbers } from '../../../unit/credit/tabular.ts';

/** Draws a message: its expected return, and a replay of it. */
type Message = (numbers: Numbers) => { readonly expected: number; readonly replay: () => number };

const chance = (numbers: Numbers, expected: number): ReturnType<Message> => ({
  expected,
  replay: () => (numbers.next() < expected ? 1 : 0),
});
const certain = (value: number): ReturnType<Message> => ({ expected: value, replay: () => value });
const graded = (numbers: Numbers, expected: number, noise: number): ReturnType<Message> => ({
  expected,
  replay: () => expected + noise * (2 * numbers.next() - 1),
});

/** Policies by how the expected returns of their messages lie, with the mean of these. */
const POLICIES: Readonly<Record<string, readonly [number, Message]>> = {
  'uniform chances': [0.5, (numbers) => chance(numbers, numbers.next())],
  'equal chances': [0.5, (numbers) => chance(numbers, 0.5)],
  'small equal chances': [0.1, (numbers) => chance(numbers, 0.1)],
  'deterministic, half': [0.5, (numbers) => certain(numbers.next() < 0.5 ? 1 : 0)],
  'deterministic, most': [0.8, (numbers) => certain(numbers.next() < 0.8 ? 1 : 0)],
  'deterministic, nearly all': [0.975, (numbers) => certain(numbers.next() < 0.975 ? 1 : 0)],
  'one message in four': [0.3, (numbers) => chance(numbers, numbers.next() < 0.25 ? 0.9 : 0.1)],
  'graded, certain': [0.5, (numbers) => certain(numbers.next())],
  'graded, little noise': [0.5, (numbers) => graded(numbers, 0.05 + 0.9 * numbers.next(), 0.05)],
  'graded, much noise': [0.5, (numbers) => graded(numbers, 0.25 + 0.5 * numbers.next(), 0.25)],
};
const DESIGNS = [
  [2, 4],
  [8, 4],
  [8, 16],
  [8, 64],
] as const;
/** Credits of each cell, of one bucket each: those of one bucket are not independent. */
const BUCKETS = 400;

test('single-bucket intervals cover the true credit of at least 94 % of contexts, from 2 x 4 to 8 x 64', (t) => {
  for (const [name, [value, message]] of Object.entries(POLICIES)) {
    const shares = DESIGNS.map(([alternatives, replays]) => {
      let covered = 0;
      for (let seed = 0; seed < BUCKETS; seed++) {
        const numbers = new Numbers(97, seed);
        const drawn = Array.from({ length: alternatives }, () => message(numbers));
        const group = drawn.map(({ replay }) => ({
          returns: Array.from({ length: replays }, replay),
          evaluatorCalls: replays,
        }));
        const [credit] = creditGroup({ alternatives: group }, 'loo');
        const truth = (drawn[0]?.expected ?? NaN) - value;
        covered += (credit?.low ?? 1) <= truth + 1e-9 && truth - 1e-9 <= (credit?.high ?? -1) ? 1 : 0;
      }
      return covered / BUCKETS;
    });
    t.diagnostic(`${name}: ${shares.map((share) => (100 * share).toFixed(1)).join(', ')} %`);
    for (const [index, share] of shares.entries()) {
      assert.ok(share >= 0.94, `${name}, ${String(DESIGNS[index])}: ${share}`);
    }
  }
});

/** Influence less its permutation null, against teams whose mutual information is known. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openStream, uniform } from '../../../src/credit/counter.ts';
import type { DiagnosticBucket } from '../../../src/diagnostics/bucket.ts';
import { measureDistinctInfluence } from '../../../src/diagnostics/distinctInfluence.ts';
import { measureInfluence, PAPER_INFLUENCE } from '../../../src/diagnostics/influence.ts';
import { bucket } from './buckets.ts';

const WORDS = ['a', 'b', 'c', 'd'];

/**
 * Contexts of a team whose first role says one of the texts at random and whose second answers one of four words:
 * always that of the text with this probability, else any.
 */
function team(contexts: number, texts: number, replays: number, follows: number): DiagnosticBucket[] {
  return Array.from({ length: contexts }, (_, index) => {
    const stream = openStream(7, index);
    let drawn = 0;
    const draw = (below: number): number => Math.floor(uniform(stream, drawn++) * below);
    const said = Array.from({ length: 4 }, () => draw(texts));
    return bucket({
      texts: said.map(String),
      next: said.map((text) =>
        Array.from({ length: replays }, () => {
          const other = draw(WORDS.length);
          return WORDS[uniform(stream, drawn++) < follows ? text % WORDS.length : other] ?? '';
        }),
      ),
    });
  });
}

describe('influence over distinct texts less its null', () => {
  it('is 0 where a message changes nothing, which the published estimate is far from', () => {
    const contexts = team(400, 4, 4, 0);
    const { value, estimate } = measureDistinctInfluence(contexts, PAPER_INFLUENCE);
    assert.ok(value !== null && (value.low ?? 1) < 0 && (value.high ?? -1) > 0, JSON.stringify(value));
    assert.ok(Math.abs(value.value) < 0.02, String(value.value));
    assert.ok((estimate ?? 0) > 0.15, String(estimate));
    assert.ok((measureInfluence(contexts, PAPER_INFLUENCE).value?.low ?? 0) > 0.15);
  });

  it('is the mutual information where the samples are many', () => {
    // Two texts, each followed by its word with p = 1/2 + 1/2 * 1/4, by each other one with 1/8.
    const contexts = team(60, 2, 500, 0.5).filter(
      ({ alternatives }) => alternatives.filter(({ text }) => text === '0').length === 2,
    );
    const [own, other] = [5 / 8, 1 / 8];
    const entropy = (...shares: number[]): number => -shares.reduce((sum, p) => sum + p * Math.log(p), 0);
    const shared = (own + other) / 2;
    const exact = entropy(shared, shared, other, other) - entropy(own, other, other, other);
    const { value } = measureDistinctInfluence(contexts, PAPER_INFLUENCE);
    assert.ok(Math.abs((value?.value ?? NaN) - exact) < 0.01, `${String(value?.value)} is not ${exact}`);
  });

  it('is 0 for a context of one text, whatever follows it; equal texts are one alternative', () => {
    const same = bucket({
      texts: ['x', 'x'],
      next: [
        ['a', 'a'],
        ['b', 'b'],
      ],
    });
    const found = measureDistinctInfluence([same], PAPER_INFLUENCE);
    assert.deepEqual([found.value?.value, found.estimate, found.null, found.oneText], [0, 0, 0, 1]);
    assert.ok((measureInfluence([same], PAPER_INFLUENCE).value?.value ?? 0) > 0.5);
    const merged = bucket({ texts: ['x', 'y', 'x'], next: [['a'], ['b'], ['a']] });
    const apart = bucket({ texts: ['x', 'y'], next: [['a', 'a'], ['b']] });
    assert.equal(
      measureDistinctInfluence([merged], PAPER_INFLUENCE).estimate,
      measureDistinctInfluence([apart], PAPER_INFLUENCE).estimate,
    );
  });

  it('leaves out what cannot be measured, and is the same again', () => {
    const contexts = [...team(20, 3, 2, 0.5), bucket({ next: [['a'], []] }), bucket({ returns: [[1], [0]] })];
    const found = measureDistinctInfluence(contexts, PAPER_INFLUENCE);
    assert.deepEqual([found.value?.n, found.leftOut, found.permutations], [20, 2, 100]);
    assert.deepEqual(measureDistinctInfluence(contexts, PAPER_INFLUENCE), found);
    assert.notDeepEqual(measureDistinctInfluence(contexts, PAPER_INFLUENCE, 1), found);
    const none = measureDistinctInfluence([], PAPER_INFLUENCE);
    assert.deepEqual([none.value, none.estimate, none.null, none.leftOut], [null, null, null, 0]);
  });
});

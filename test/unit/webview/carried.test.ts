import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TranscriptLayout } from '../../../src/shared/protocols/transcriptProtocol.ts';
import { Arrivals } from '../../../webview/transcript/arrivals.ts';
import { carryRow } from '../../../webview/transcript/tree/carried.ts';

test('a row goes to its new place, or as far as the nearest row that has one', () => {
  const before = new Map([
    [1, 10],
    [2, 50],
    [3, 90],
  ]);
  const after = new Map([
    [1, 10],
    [2, 58],
    [4, 7],
  ]);
  assert.equal(carryRow({ index: 33, message: 4 }, before, after, 1000), 7);
  assert.deepEqual(
    [12, 29, 31, 49, 90, 995].map((index) => carryRow({ index, message: null }, before, after, 1000)),
    [12, 29, 39, 57, 98, 999],
  );
  assert.equal(carryRow({ index: 90, message: 3 }, before, after, 1000), 98, 'one that is gone, too');
  assert.equal(carryRow({ index: 0, message: null }, before, after, 1000), 0, 'the question stays the first');
  assert.equal(carryRow({ index: 90, message: null }, new Map(), after, 40), 39);
});

test('a layout is asked for again, once, where it lacks what came into sight; what is filtered away has a place', () => {
  const layout = (...messages: readonly number[]): { readonly layout: Pick<TranscriptLayout, 'places' | 'near'> } => ({
    layout: {
      places: messages.map((message) => ({ message, index: 1, descendants: 0, ancestors: [] })),
      near: [{ message: 99, index: 3 }],
    },
  });
  const arrivals = new Arrivals<ReturnType<typeof layout>>();
  const [first, second, third] = [layout(1), layout(1), layout(1, 2)];
  assert.equal(arrivals.take(first, [1, 99]), first);
  assert.equal(arrivals.release(), null);
  assert.equal(arrivals.take(first, [1, 2]), null);
  assert.equal(arrivals.take(second, [3]), second, 'who scrolls on and on sees what is new');
  assert.equal(arrivals.take(second, [2]), null);
  assert.equal(arrivals.release(), second, 'what comes next needs it at once');
  assert.equal(arrivals.take(second, [2]), null);
  assert.equal(arrivals.take(third, [2]), third);
});

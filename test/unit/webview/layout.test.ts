import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Layout } from '../../../webview/transcript/tree/layout.ts';

/** Every tree shape that 200 draws of a fixed sequence make: depth of each row, row 0 the root. */
function randomDepths(rows: number, seed: number): readonly number[] {
  let state = seed;
  const next = (): number => (state = (state * 48271) % 2147483647);
  const depths = [0];
  while (depths.length < rows) {
    depths.push(1 + (next() % ((depths.at(-1) ?? 0) + 1)));
  }
  return depths;
}

function descendantsOf(depths: readonly number[], index: number): number {
  const end = depths.findIndex((depth, row) => row > index && depth <= (depths[index] ?? 0));
  return (end < 0 ? depths.length : end) - index - 1;
}

test('the mapping agrees with hiding rows one by one, whatever is folded', () => {
  for (let seed = 1; seed <= 200; seed++) {
    const depths = randomDepths(1 + (seed % 37), seed * 7919);
    const folded = depths.flatMap((_, index) =>
      (index * seed) % 3 === 1 ? [{ index, descendants: descendantsOf(depths, index) }] : [],
    );
    const hidden = new Set(
      folded.flatMap(({ index, descendants }) =>
        Array.from({ length: descendants }, (_, offset) => index + 1 + offset),
      ),
    );
    const visible = depths.map((_, index) => index).filter((index) => !hidden.has(index));
    // Order must not matter, and nested folds are allowed.
    const layout = new Layout(depths.length, folded.toReversed());
    assert.equal(layout.visible, visible.length);
    visible.forEach((row, place) => {
      assert.equal(layout.rowAt(place), row);
      assert.equal(layout.placeOf(row), place);
    });
    for (const row of hidden) {
      const above = visible.findLast((candidate) => candidate < row);
      assert.equal(
        layout.placeOf(row),
        visible.indexOf(above ?? -1),
        `hidden row ${row} stands at its folded ancestor`,
      );
    }
  }
});

test('folds beyond the end and empty folds hide nothing that is not there', () => {
  const layout = new Layout(5, [
    { index: 3, descendants: 10 },
    { index: 9, descendants: 2 },
    { index: 1, descendants: 0 },
  ]);
  assert.equal(layout.visible, 4);
  assert.deepEqual(
    [0, 1, 2, 3].map((place) => layout.rowAt(place)),
    [0, 1, 2, 3],
  );
});

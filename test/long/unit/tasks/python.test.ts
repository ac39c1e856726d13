import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sample } from '../../../unit/tasks/pythonSample.ts';

test('seeds that draw the same question agree on all of it, so that their runs can share a store', () => {
  const drawn = Map.groupBy(
    ['run-0', 'run-1', 'run-2'].flatMap((seed) => sample(seed, 2500, [1, 1, 1, 1])),
    ({ question }) => question,
  );
  const shared = [...drawn.values()].filter(({ length }) => length > 1);
  assert.ok(shared.length > 10, `${shared.length}`);
  for (const [first, ...others] of shared) {
    for (const other of others) {
      assert.deepEqual(
        [other.answer, other.source, other.level, other.tests],
        [first?.answer, first?.source, first?.level, first?.tests],
      );
    }
  }
});

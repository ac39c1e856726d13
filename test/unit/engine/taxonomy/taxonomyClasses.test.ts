import assert from 'node:assert/strict';
import { test } from 'node:test';
import { problemClasses } from '../../../../src/engine/taxonomy/taxonomyClasses.ts';

test('a problem has the class of most of its buckets; among equals the one that the rules ask for first, and none where no bucket has one', () => {
  const cases = [
    ['a', 'Over-Coupling'],
    ['a', 'Over-Coupling'],
    ['a', 'Misleading Plan'],
    ['a', 'unclassified'],
    ['b', 'Successful Credit Shift'],
    ['b', 'Misleading Plan'],
    ['c', 'all succeeded'],
    ['c', 'unclassified'],
    ['c', 'all succeeded'],
    ['d', 'all succeeded'],
  ] as const;
  assert.deepEqual(
    problemClasses(
      cases.map(([instance]) => instance),
      cases.map(([, name]) => ({ name })),
    ),
    [
      { instance: 'a', name: 'Over-Coupling', cases: 2, of: 4 },
      { instance: 'b', name: 'Misleading Plan', cases: 1, of: 2 },
      { instance: 'c', name: 'unclassified', cases: 1, of: 3 },
      { instance: 'd', name: 'all succeeded', cases: 1, of: 1 },
    ],
  );
});

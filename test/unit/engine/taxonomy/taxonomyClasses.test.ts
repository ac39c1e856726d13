import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findProblemClasses } from '../../../../src/engine/taxonomy/taxonomyClasses.ts';

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
    findProblemClasses(
      cases.map(([problem]) => problem),
      cases.map(([, name]) => ({ name })),
    ),
    [
      { problem: 'a', name: 'Over-Coupling', cases: 2, of: 4 },
      { problem: 'b', name: 'Misleading Plan', cases: 1, of: 2 },
      { problem: 'c', name: 'unclassified', cases: 1, of: 3 },
      { problem: 'd', name: 'all succeeded', cases: 1, of: 1 },
    ],
  );
});

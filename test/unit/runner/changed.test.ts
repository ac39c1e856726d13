import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { readReach, findReachedTests } from '../../runner/changed.ts';
import { chooseFiles } from '../../runner/chosen.ts';
import { computeDistances } from '../../runner/importGraph.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const TESTS = (['unit', 'system', 'integration'] as const).flatMap((suite) => chooseFiles(suite, [], ROOT));
const REACH = readReach(ROOT);
const reached = (...changed: string[]): string[] => findReachedTests(REACH, changed, TESTS);

test('a distance counts imports, the shortest way', () => {
  const arrows = { a: ['b', 'c'], b: ['d'], c: ['a'], d: ['e'], f: [] };
  const graph = new Map(Object.entries(arrows).map(([file, imported]) => [file, new Set<string>(imported)]));
  assert.deepEqual(Object.fromEntries(computeDistances(graph, new Set(['e', 'd']))), { e: 0, d: 0, b: 1, a: 2, c: 3 });
  assert.deepEqual(Object.fromEntries(computeDistances(graph, new Set(['c']))), { c: 0, a: 1 });
});

test('a change of a formula reaches its own test first, and pages that do not import it not at all', () => {
  const tests = reached('src/credit/interval.ts');
  assert.ok(tests.indexOf('test/unit/credit/interval.test.ts') < 5);
  assert.ok(!tests.includes('test/unit/evaluate/math/exact/rational.test.ts'));
});

test('what a test starts as a program is reached, though it is not imported', () => {
  assert.ok(reached('src/engine/main.ts').some((file) => file.startsWith('test/system/engine/server/')));
  assert.ok(reached('src/engine/worker.ts').some((file) => file.startsWith('test/system/engine/')));
  const readers = reached('src/engine/readCheckpoints.ts');
  assert.ok(readers.indexOf('test/system/engine/exchange/importFormats.test.ts') < 10, 'by the constant of its entry');
  assert.ok(!readers.includes('test/unit/tasks/holdOut.test.ts'), 'who names other entries does not start this one');
  assert.ok(reached('webview/dashboard/main.ts').includes('test/integration/dashboard.test.ts'));
});

test('a data file reaches the tests that name it, and what decides the build reaches all', () => {
  assert.ok(reached('test/fixtures/published/README.md').length < TESTS.length / 2);
  assert.deepEqual(reached('package.json'), TESTS);
});

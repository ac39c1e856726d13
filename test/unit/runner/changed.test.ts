import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { reachedBy } from '../../runner/changed.ts';
import { chosenFiles } from '../../runner/chosen.ts';
import { distance } from '../../runner/importGraph.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const TESTS = (['unit', 'system', 'integration'] as const).flatMap((suite) => chosenFiles(suite, [], ROOT));
const reached = (...changed: string[]): string[] => reachedBy(ROOT, changed, TESTS);

test('a distance counts imports, the shortest way', () => {
  const graph = new Map(Object.entries({ a: ['b', 'c'], b: ['d'], c: ['a'], d: ['e'] }));
  assert.equal(distance(graph, 'a', new Set(['a'])), 0);
  assert.equal(distance(graph, 'a', new Set(['e', 'd'])), 2);
  assert.equal(distance(graph, 'e', new Set(['a'])), undefined);
});

test('a change of a formula reaches its own test first, and pages that do not import it not at all', () => {
  const tests = reached('src/credit/interval.ts');
  assert.ok(tests.indexOf('test/unit/credit/interval.test.ts') < 5);
  assert.ok(!tests.includes('test/unit/evaluate/math/exact/rational.test.ts'));
});

test('what a test starts as a program is reached, though it is not imported', () => {
  assert.ok(reached('src/engine/main.ts').some((file) => file.startsWith('test/system/engine/server/')));
  assert.ok(reached('webview/dashboard/main.ts').includes('test/integration/dashboard.test.ts'));
});

test('a data file reaches the tests that name it, and what decides the build reaches all', () => {
  assert.ok(reached('test/fixtures/published/README.md').length < TESTS.length / 2);
  assert.deepEqual(reached('package.json'), TESTS);
});

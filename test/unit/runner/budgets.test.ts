import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { doKnownWork, findExcesses, computeSlowdown } from '../../runner/budgets.ts';

const files = [
  { file: 'a.test.ts', suite: 'unit', processorSeconds: 15 },
  { file: 'b.test.ts', suite: 'unit', processorSeconds: 15.1 },
  { file: 'c.test.ts', suite: 'system', processorSeconds: 24 },
  { file: 'd.test.ts', suite: 'long', processorSeconds: 4000 },
] as const;

test('a file over the budget of its suite is named with what it took, and one at the budget is not', () => {
  assert.deepEqual(findExcesses(files, new Map(), 1), [
    { suite: 'unit', name: 'b.test.ts', reason: '15.1 s of processor time, and a file may take 15 s' },
  ]);
});

test('a suite whose files are each within their budget can be over its own', () => {
  const took = new Map([
    ['checks', 9000],
    ['unit', 301],
    ['system', 520],
  ]);
  assert.deepEqual(findExcesses([], took, 1), [
    { suite: 'unit', name: 'unit', reason: '301 s of processor time, and the suite may take 300 s' },
  ]);
});

test('on a machine that is twice as slow, a file and a suite may take twice as much', () => {
  assert.deepEqual(findExcesses(files, new Map([['unit', 600]]), 2), []);
  const slow = [{ file: 'a.test.ts', suite: 'unit', processorSeconds: 31 }] as const;
  assert.deepEqual(
    findExcesses(slow, new Map([['unit', 601]]), 2).map(({ reason }) => reason),
    ['31.0 s of processor time, and a file may take 30 s', '601 s of processor time, and the suite may take 600 s'],
  );
});

test('the slowdown is the median of the known work over its usual time, and a fast machine has none', () => {
  assert.equal(computeSlowdown([9, 0.4, 0.3]), 2);
  assert.equal(computeSlowdown([0.1, 0.1, 0.1]), 1);
  assert.equal(computeSlowdown([]), 1);
});

test('the known work takes time in each of its processes', async () => {
  const seconds = await doKnownWork(join(import.meta.dirname, '..', '..', '..'));
  assert.ok(seconds.length >= 4);
  assert.ok(seconds.every((one) => one > 0.01));
});

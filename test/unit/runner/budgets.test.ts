import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findExcesses, hadMostOfMachine, machineSeconds } from '../../runner/budgets.ts';

test('a file over the budget of its suite is named with what it took, and one at the budget is not', () => {
  const files = [
    { file: 'a.test.ts', suite: 'unit', processorSeconds: 15 },
    { file: 'b.test.ts', suite: 'unit', processorSeconds: 15.1 },
    { file: 'c.test.ts', suite: 'system', processorSeconds: 24 },
    { file: 'd.test.ts', suite: 'long', processorSeconds: 4000 },
  ] as const;
  assert.deepEqual(findExcesses(files, new Map()), [
    { suite: 'unit', name: 'b.test.ts', reason: '15.1 s of processor time, and a file may take 15 s' },
  ]);
});

test('a suite whose files are each within their budget can be over its own', () => {
  const took = new Map([
    ['checks', 9000],
    ['unit', 301],
    ['system', 520],
  ]);
  assert.deepEqual(findExcesses([], took), [
    { suite: 'unit', name: 'unit', reason: '301 s of processor time, and the suite may take 300 s' },
  ]);
});

test('a run had most of the machine while other programs spent no more than it', () => {
  assert.equal(hadMostOfMachine(800, 1000), true);
  assert.equal(hadMostOfMachine(500, 1000), true);
  assert.equal(hadMostOfMachine(499, 1000), false);
});

test('the time of the machine grows by what this process spends', () => {
  const before = { own: process.cpuUsage(), all: machineSeconds() };
  while (process.cpuUsage(before.own).user < 200_000) {
    // Spends its time.
  }
  // The system counts in steps of 10 ms for each core.
  assert.ok(machineSeconds() - before.all > 0.1);
});

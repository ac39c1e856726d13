import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecentTrials } from '../../../../../src/engine/run/timing.ts';

test('a trial is remembered for minutes, and not for the life of an engine', () => {
  const trials = new RecentTrials();
  assert.equal(trials.get('a', 0), null);
  trials.set('a', { sampled: 9, trained: 9 }, 1000);
  assert.deepEqual(trials.get('a', 200_000), { sampled: 9, trained: 9 });
  assert.equal(trials.get('a', 400_000), null, 'the minute in which it was loaded is over');
  trials.set('a', { sampled: 1, trained: 1 }, 400_000);
  assert.deepEqual(trials.get('a', 400_001), { sampled: 1, trained: 1 });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatQueue } from '../../../../src/extension/run/progressWords.ts';

const JOB = { title: 'Rate 3e-4', waitingFor: null };
const AT = { stage: 'train', done: 3, total: 60, remainingSeconds: null } as const;

test('one line says what goes on and what waits, however many do', () => {
  assert.equal(formatQueue(null, null, []), 'starting');
  assert.equal(formatQueue(JOB, null, []), '"Rate 3e-4": starting');
  assert.equal(formatQueue(JOB, AT, []), '"Rate 3e-4": training, step 3 of 60');
  assert.equal(formatQueue(JOB, AT, [{ title: 'B' }]), '"Rate 3e-4": training, step 3 of 60; queued: "B"');
  assert.equal(
    formatQueue({ ...JOB, waitingFor: 'waiting for c3 import' }, AT, [{ title: 'B' }, { title: 'C' }, { title: 'D' }]),
    '"Rate 3e-4": waiting for c3 import; queued: "B" and 2 more',
  );
});

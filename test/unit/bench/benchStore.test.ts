import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { takeMedian, takeQuantile } from '../../../src/bench/report.ts';
import { benchStore } from '../../../src/bench/speed/store.ts';
import { CancelledError } from '../../../src/shared/errors.ts';
import { leftBehind } from '../../support/leftBehind.ts';
import { makeSignalAbortedWhen } from '../../support/signals.ts';

test('a store bench that is cancelled ends at once and leaves nothing behind', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'c3-test-'));
  const before = process.env['TMPDIR'];
  process.env['TMPDIR'] = folder;
  t.after(() => {
    if (before === undefined) {
      delete process.env['TMPDIR'];
    } else {
      process.env['TMPDIR'] = before;
    }
    rmSync(folder, { recursive: true, force: true });
  });
  const notes: string[] = [];
  let asked = 0;
  const signal = makeSignalAbortedWhen(() => {
    assert.equal(readdirSync(folder).length, 1, 'it works in a folder of its own');
    return ++asked > 2;
  });
  await assert.rejects(benchStore({ quick: true, signal, note: (line) => notes.push(line) }), CancelledError);
  assert.equal(asked, 3);
  assert.deepEqual(leftBehind(folder), []);
});

test('medians and quantiles are values that were measured', () => {
  assert.equal(takeMedian([3, 1, 2]), 2);
  assert.equal(takeMedian([4, 1, 2, 3]), 3);
  assert.equal(takeMedian([]), null);
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
  assert.deepEqual(
    [0, 0.5, 0.99, 1].map((share) => takeQuantile(hundred, share)),
    [1, 51, 100, 100],
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPacer } from '../../../../../src/engine/run/time/pace.ts';

test('few reports go out as they come, many at a pace', () => {
  let time = 0;
  const due = createPacer(() => time);
  const made = Array.from({ length: 1032 }, () => {
    const now = due();
    time++;
    return now;
  });
  assert.ok(made.slice(0, 32).every(Boolean));
  assert.equal(made.slice(32).filter(Boolean).length, 10, 'in a second');
  time += 5000;
  assert.deepEqual([due(), due()], [true, false], 'a pause saves up nothing');
});

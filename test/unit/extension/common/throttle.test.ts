/** When work is done that is asked for again and again. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Throttle } from '../../../../src/extension/common/throttle.ts';

test('work is done at once, then once more an interval after it ended, however often it is asked for', (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  let done = 0;
  const throttle = new Throttle(100, () => {
    done++;
    // Work that asks for itself is done later, too; work that lasts takes none of the interval.
    if (done === 1) {
      context.mock.timers.tick(500);
      throttle.trigger();
    }
  });
  throttle.trigger();
  assert.equal(done, 1);
  throttle.trigger();
  context.mock.timers.tick(99);
  assert.equal(done, 1);
  context.mock.timers.tick(1);
  assert.equal(done, 2);
  context.mock.timers.tick(1000);
  assert.equal(done, 2, 'nobody asked');
  throttle.trigger();
  assert.equal(done, 3);
  throttle.trigger();
  throttle.dispose();
  context.mock.timers.tick(1000);
  assert.equal(done, 3);
});

test('work that throws is done again when it is asked for', (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  let done = 0;
  const throttle = new Throttle(100, () => {
    done++;
    throw new Error('no store');
  });
  assert.throws(() => throttle.trigger(), /no store/u);
  context.mock.timers.tick(100);
  assert.throws(() => throttle.trigger(), /no store/u);
  assert.equal(done, 2);
});

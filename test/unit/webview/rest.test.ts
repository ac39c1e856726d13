/** Work that waits until scrolling rests, and is done at once when the keyboard leaves the page. */

import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { onceRested, DelayedWork } from '../../../webview/common/rest.ts';

/** Longer than any scrolling rests. */
const A_WHILE = 1_000;

const page = new EventTarget();
Object.defineProperty(globalThis, 'window', { configurable: true, value: page });

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
});

test('work that is asked for again and again is done once', () => {
  let done = 0;
  const ask = onceRested(() => {
    done++;
  });
  ask();
  ask();
  assert.equal(done, 0);
  mock.timers.tick(A_WHILE);
  assert.equal(done, 1);
});

test('work is done at once when the keyboard leaves the page, and only where it was asked for', () => {
  let done = 0;
  const ask = onceRested(() => {
    done++;
  });
  page.dispatchEvent(new Event('blur'));
  assert.equal(done, 0);
  ask();
  page.dispatchEvent(new Event('blur'));
  assert.equal(done, 1);
  mock.timers.tick(A_WHILE);
  page.dispatchEvent(new Event('blur'));
  assert.equal(done, 1, 'once');
});

test('what waits can be done now, or forgotten, and is not done again', () => {
  let done = 0;
  const rested = new DelayedWork(() => {
    done++;
  }, 50);
  rested.ask();
  assert.equal(rested.waiting, true);
  rested.now();
  assert.deepEqual([done, rested.waiting], [1, false]);
  rested.ask();
  rested.cancel();
  mock.timers.tick(A_WHILE);
  page.dispatchEvent(new Event('blur'));
  assert.deepEqual([done, rested.waiting], [1, false]);
});

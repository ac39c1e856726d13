/** What a page takes from its host. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isHandled } from '../../../webview/common/host.ts';

test('a page takes messages that it has a handler for, and nothing else', () => {
  const handlers = { empty: () => undefined, failed: () => undefined };
  assert.ok(isHandled(handlers, { type: 'empty' }));
  assert.ok(isHandled(handlers, { type: 'failed', message: 'No store.' }));
  const others = [null, undefined, 'empty', ['empty'], {}, { type: 'toString' }, { type: ['empty'] }, { type: 1 }];
  for (const other of others) {
    assert.ok(!isHandled(handlers, other), JSON.stringify(other));
  }
});

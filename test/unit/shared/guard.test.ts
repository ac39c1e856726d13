/** Guards on what crosses between a page and its host. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDashboardFromHost } from '../../../src/shared/protocols/dashboardProtocol.ts';

test('a page takes messages of its protocol and nothing else', () => {
  assert.ok(isDashboardFromHost({ type: 'empty' }));
  assert.ok(isDashboardFromHost({ type: 'failed', message: 'No store.' }));
  const others = [null, undefined, 'empty', ['empty'], {}, { type: 'toString' }, { type: ['empty'] }, { type: 1 }];
  for (const other of others) {
    assert.ok(!isDashboardFromHost(other), JSON.stringify(other));
  }
});

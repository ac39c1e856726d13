/** Opening a store prepares no statement that nobody uses. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadSqlite } from '../../../../src/store/files/sqlite.ts';
import { openStoreForReading } from '../../../../src/store/read/reader.ts';
import { openStoreForWriting } from '../../../../src/store/write/writer.ts';
import { filledStore } from '../helpers.ts';

test('an opened store has prepared what opening it needs, and prepares each statement once, when it is used', (t) => {
  const filled = filledStore(t);
  const { path } = filled;
  filled.close();
  const prepare = t.mock.method(loadSqlite().prototype, 'prepare');
  for (const open of [openStoreForReading, openStoreForWriting]) {
    prepare.mock.resetCalls();
    const store = open(path);
    try {
      const opening = prepare.mock.callCount();
      assert.ok(opening < 12, `${open.name} prepared ${opening} statements`);
      const [first] = store.runs(0, 1);
      assert.deepEqual(store.runs(0, 1), [first]);
      assert.equal(prepare.mock.callCount(), opening + 1);
    } finally {
      store.close();
    }
  }
});

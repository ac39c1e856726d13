import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { migrateStore, MIGRATIONS } from '../../../../src/store/tables/migrations.ts';
import { openStoreForWriting } from '../../../../src/store/write/writer.ts';
import { rawConnection, temporaryFolder } from '../helpers.ts';

test('a store of version 4 keeps its labels as its user wrote them, under the same guards', (t) => {
  const path = join(temporaryFolder(t), 'c3.sqlite');
  const old = rawConnection(t, path);
  old.pragma('foreign_keys = ON');
  migrateStore(old, path, MIGRATIONS.slice(0, 4));
  old.exec(`
    INSERT INTO run VALUES ('run-1', 'c3', 1, 'Old', '{}', 3, 'done', '2026', '2026', NULL);
    INSERT INTO instance (id, uid_sha, uid, question, answer, source) VALUES (1, 'sha', 'uid', 'q', 'a', 's');
    INSERT INTO snapshot VALUES (1, 'w', 'run-1', 0, 'base', NULL);
    INSERT INTO bucket VALUES (4, 'run-1', 'training', 1, 1, 'reasoner', 0, '5', 1, NULL);
    INSERT INTO label VALUES (3, NULL, 4, 'Over-Coupling', 'a "note"', '2026-01-01');`);
  old.close();
  const store = openStoreForWriting(path);
  t.after(() => store.close());
  const kept = {
    id: 3,
    message: null,
    bucket: 4,
    name: 'Over-Coupling',
    note: 'a "note"',
    author: 'you',
    createdAt: '2026-01-01',
  };
  assert.deepEqual(store.labelsOfBucket(4), [kept]);
  const added = store.insertLabel({
    message: null,
    bucket: 4,
    name: '',
    note: '',
    author: 'another',
    createdAt: '2026-01-02',
  });
  assert.deepEqual(
    store.labelsOfRun('run-1').map(({ id, author }) => [id, author]),
    [
      [3, 'you'],
      [added, 'another'],
    ],
  );
  const db = rawConnection(t, path);
  assert.equal(db.pragma('user_version', { simple: true }), MIGRATIONS.length);
  assert.throws(() => db.exec("UPDATE label SET author = 'me'"), /never changed/);
  assert.throws(() => db.exec('DELETE FROM label'), /never changed/);
  assert.throws(() => db.exec("INSERT INTO label VALUES (9, NULL, 4, 'x', '', '2026', NULL)"), /NOT NULL/);
});

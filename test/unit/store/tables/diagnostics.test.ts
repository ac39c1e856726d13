import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { openStoreForReading } from '../../../../src/store/read/reader.ts';
import { migrateStore, MIGRATIONS } from '../../../../src/store/tables/migrations.ts';
import { openStoreForWriting } from '../../../../src/store/write/writer.ts';
import {
  filledStore,
  newBucket,
  newMessage,
  newReplay,
  rawConnection,
  RUN,
  storeErrorLike,
  temporaryFolder,
} from '../helpers.ts';

test('diagnostic buckets are apart from what a user asked for, and count as requests of replay', (t) => {
  const store = filledStore(t);
  const clicked = store.insertMessage(newMessage());
  const request = store.insertBucket(newBucket({ origin: 'request', message: clicked }));
  const sampled = store.insertBucket(newBucket({ origin: 'diagnostic', iteration: 2, message: clicked }));
  assert.equal(store.nextRequestNumber(RUN), 3);
  assert.deepEqual(
    store.requestsOf(RUN, newBucket().problem).map(({ id }) => id),
    [request],
  );
  assert.deepEqual(
    store.bucketsFor(clicked).map(({ id }) => id),
    [request],
  );
  assert.deepEqual(
    store.bucketsOfRun({ run: RUN, offset: 0, limit: 9 }).map(({ id, origin }) => [id, origin]),
    [
      [request, 'request'],
      [sampled, 'diagnostic'],
    ],
  );
  assert.deepEqual(
    store.bucketsOfRun({ run: RUN, origin: 'diagnostic', offset: 0, limit: 9 }).map(({ id }) => id),
    [sampled],
  );
  assert.equal(store.countBuckets({ run: RUN, origin: 'diagnostic' }), 1);
});

test('a sample has its settings and its complete buckets, whole as they were given', (t) => {
  const store = filledStore(t);
  const bucket = store.insertBucket(newBucket({ origin: 'diagnostic' }));
  store.insertBucket(newBucket({ origin: 'diagnostic' }));
  const sample = store.insertDiagnosticSample(RUN, '{"contexts":4}');
  const row = {
    bucket,
    sample,
    credited: 4,
    valueFrom: 4,
    valueCount: 2,
    real: 0,
    seconds: 1.5,
    joules: null,
    source: '{"x":1}',
  };
  store.insertDiagnosticBucket(row);
  const reader = openStoreForReading(store.path);
  t.after(() => reader.close());
  assert.deepEqual(reader.diagnosticSamples(RUN), [{ id: sample, run: RUN, settings: '{"contexts":4}' }]);
  assert.deepEqual(reader.diagnosticBuckets(sample, 0, 9), [row]);
  assert.deepEqual(
    [
      reader.diagnosticBuckets(sample, 1, 9),
      reader.diagnosticBucket(bucket),
      reader.diagnosticBucket(bucket + 1),
      reader.diagnosticSamples('none'),
    ],
    [[], row, null, []],
  );
  assert.throws(() => store.insertDiagnosticSample('none', '{}'), storeErrorLike(/does not hold/));
  assert.throws(() => store.insertDiagnosticBucket({ ...row, bucket: 99 }), storeErrorLike(/does not hold/));
});

test('replays cost apart from the run, by origin and position', (t) => {
  const store = filledStore(t);
  store.insertBucket(newBucket({ origin: 'request', iteration: 1 }));
  const sampled = store.insertBucket(newBucket({ origin: 'diagnostic', iteration: 2 }));
  store.insertMessage(newMessage());
  store.insertMessage(newMessage({ phase: 'replay', iteration: 1 }));
  store.insertMessage(newMessage({ phase: 'replay', iteration: 2, bucket: sampled }));
  store.insertMessage(
    newMessage({ phase: 'replay', iteration: 2, role: 'actor', position: 1, promptTokens: 5, reusedTokens: 1 }),
  );
  const cost = (
    origin: string,
    role: string,
    position: number,
    promptTokens: number,
    reusedTokens: number,
  ): unknown => ({
    origin,
    role,
    position,
    messages: 1,
    promptTokens,
    reusedTokens,
    completionTokens: 4,
    reusedCompletionTokens: 0,
  });
  assert.deepEqual(store.replayCosts(RUN), [
    cost('request', 'reasoner', 0, 16, 8),
    cost('diagnostic', 'reasoner', 0, 16, 8),
    cost('diagnostic', 'actor', 1, 5, 1),
  ]);
  assert.deepEqual(store.replayCosts('none'), []);
});

test('a store of version 3 keeps every bucket and what refers to it, under the same guards', (t) => {
  const path = join(temporaryFolder(t), 'c3.sqlite');
  const old = rawConnection(t, path);
  old.pragma('foreign_keys = ON');
  migrateStore(old, path, MIGRATIONS.slice(0, 3));
  old.exec(`
    INSERT INTO run VALUES ('run-1', 'c3', 1, 'Old', '{}', 3, 'done', '2026', '2026', NULL);
    INSERT INTO instance (id, uid_sha, uid, question, answer, source) VALUES (1, 'sha', 'uid', 'q', 'a', 's');
    INSERT INTO snapshot VALUES (1, 'w', 'run-1', 0, 'base', NULL);
    INSERT INTO environment VALUES (1, 'r', 'p', 'd', 1, 'x');
    INSERT INTO text VALUES (1, 'h', 'said');
    INSERT INTO context VALUES (1, '5', 1);
    INSERT INTO bucket VALUES (4, 'run-1', 'training', 1, 1, 'reasoner', 0, '5', 1, NULL);
    INSERT INTO decision VALUES (1, 'run-1', 'train', 1, 1, 1, 1, 'reasoner', 0, 0, NULL, 4, 0, 1, 1, 's', 1, 1, 0, 8, 'end', 1, 0, 'h', x'', x'');
    INSERT INTO bucket VALUES (9, 'run-1', 'request', 1, 1, 'reasoner', 0, '5', 1, 1);
    INSERT INTO replay VALUES (1, 9, 1, 0, 1, 0.5, 1, 'h', 1);`);
  const before = old.prepare('SELECT * FROM bucket').all();
  old.close();
  const store = openStoreForWriting(path);
  t.after(() => store.close());
  const db = rawConnection(t, path);
  db.pragma('foreign_keys = ON');
  assert.deepEqual(db.prepare('SELECT * FROM bucket').all(), before);
  assert.deepEqual([db.pragma('foreign_key_check'), db.pragma('integrity_check', { simple: true })], [[], 'ok']);
  assert.deepEqual(store.bucketView(9).alternatives, []);
  assert.deepEqual(
    store.replaysOfBucket(9).map((replay) => replay.return),
    [0.5],
  );
  assert.throws(() => db.exec("UPDATE bucket SET origin = 'diagnostic'"), /never changed/);
  assert.throws(() => db.exec('DELETE FROM bucket'), /never changed/);
  assert.throws(() => db.exec("INSERT INTO replay VALUES (2, 5, 1, 0, 1, 0.5, 1, 'h', 1)"), /FOREIGN KEY/);
  assert.equal(
    db.prepare("SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'bucket'").pluck().get(),
    2,
  );
  const added = store.insertBucket({ ...store.bucket(9), origin: 'diagnostic' });
  store.insertReplay(newReplay(added, 1, 0, 1, 1));
  assert.equal(added, 10);
});

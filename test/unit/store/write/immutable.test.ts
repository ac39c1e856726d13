import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { NOTHING_MEASURED } from '../../../../src/domain/message.ts';
import type { Connection } from '../../../../src/store/files/sqlite.ts';
import { filledStore, newBucket, newCredit, newMessage, newEpisode, newReplay, rawConnection } from '../helpers.ts';

/** A store with a row in every table that is only appended to, seen by a connection of another program. */
function fullStore(t: TestContext): Connection {
  const store = filledStore(t);
  const bucket = store.insertBucket(newBucket());
  const message = store.insertMessage(newMessage({ bucket }));
  store.insertAlternative(bucket, message, 0, true);
  const grown = { base: '9007199254740993', baseLength: 16, since: ' = ?', sha256: 'ab' };
  store.insertMessage(newMessage({ context: grown, contextKey: '7', measured: { ...NOTHING_MEASURED, model: 'm' } }));
  store.insertEpisode(newEpisode(message, 1));
  const replay = store.insertReplay(newReplay(bucket, message, 0, message, 1));
  store.insertCredit(bucket, message, newCredit(0.5));
  store.insertVerification({ replay, result: 'identical', detail: '', environment: 1 });
  const sample = store.insertDiagnosticSample('run-1', '{}');
  store.insertDiagnosticBucket({
    bucket,
    sample,
    credited: 1,
    valueFrom: 1,
    valueCount: 0,
    real: 0,
    seconds: null,
    joules: null,
    source: null,
  });
  store.insertLabel({ message: message, bucket: null, name: 'odd', note: '', author: 'you', createdAt: '2026' });
  store.insertRunNote({ run: 'run-1', title: 'mine', note: '', tags: [], createdAt: '2026' });
  store.insertEpisodeNote({
    ...{ run: 'run-1', leaf: message, score: 1, note: '', tags: [], author: 'you', createdAt: '2026' },
  });
  return rawConnection(t, store.path);
}

const TABLES = [
  'text',
  'context',
  'context_base',
  'measurement',
  'decision',
  'bucket',
  'alternative',
  'episode',
  'replay',
  'credit',
  'verification',
  'label',
  'diagnostic_sample',
  'diagnostic_bucket',
  'run_note',
  'episode_note',
];

for (const table of TABLES) {
  test(`no program can update, delete or replace a row of ${table}`, (t) => {
    const db = fullStore(t);
    db.pragma('foreign_keys = OFF');
    const rows = (): unknown[] => db.prepare(`SELECT * FROM ${table}`).all();
    const before = rows();
    assert.ok(before.length > 0);
    const columns = db.prepare(`SELECT name FROM pragma_table_info('${table}')`).pluck().all() as string[];
    const attempts = [
      ...columns.map((column) => `UPDATE ${table} SET ${column} = ${column}`),
      `DELETE FROM ${table}`,
      `INSERT OR REPLACE INTO ${table} SELECT * FROM ${table} LIMIT 1`,
      `UPDATE OR REPLACE ${table} SET ${columns[0] ?? ''} = 99`,
    ];
    for (const attempt of attempts) {
      assert.throws(() => db.exec(attempt), new RegExp(`rows of ${table} are never changed`), attempt);
    }
    assert.deepEqual(rows(), before);
  });
}

test('a text cannot be replaced through its hash, nor a replay through its place', (t) => {
  const db = fullStore(t);
  db.pragma('foreign_keys = OFF');
  assert.throws(
    () => db.exec("INSERT OR REPLACE INTO text (sha256, body) SELECT sha256, 'forged' FROM text LIMIT 1"),
    /never changed/,
  );
  assert.throws(
    () =>
      db.exec(`INSERT OR REPLACE INTO replay (bucket, alternative, replay_index, leaf, evaluator_calls, token_hash, environment)
    SELECT bucket, alternative, replay_index, leaf, 0, 'forged', environment FROM replay`),
    /never changed/,
  );
});

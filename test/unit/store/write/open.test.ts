import assert from 'node:assert/strict';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { loadSqlite } from '../../../../src/store/files/sqlite.ts';
import { openStoreForReading } from '../../../../src/store/read/reader.ts';
import { inspectFile, migrateStore, MIGRATIONS } from '../../../../src/store/tables/migrations.ts';
import { openStoreForWriting } from '../../../../src/store/write/writer.ts';
import { filesOf, filledStore, newMessage, rawConnection, storeErrorLike, temporaryFolder } from '../helpers.ts';

test('a new store gets its folders, its mark, write-ahead logging and strict tables', (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'deep', '.c3', 'c3.sqlite');
  openStoreForWriting(path).close();
  assert.deepEqual(readdirSync(dirname(path)), ['c3.sqlite', 'c3.sqlite.seal']);
  const db = rawConnection(t, path);
  assert.equal(db.pragma('application_id', { simple: true }), 0x43335250);
  assert.equal(db.pragma('user_version', { simple: true }), MIGRATIONS.length);
  assert.equal(db.pragma('journal_mode', { simple: true }), 'wal');
  const loose = db
    .prepare(
      "SELECT name FROM pragma_table_list WHERE type = 'table' AND schema = 'main' AND strict = 0 AND name NOT LIKE 'sqlite_%'",
    )
    .all();
  assert.deepEqual(loose, []);
});

test('an existing empty file becomes a store', (t) => {
  const path = join(temporaryFolder(t), 'c3.sqlite');
  writeFileSync(path, '');
  openStoreForWriting(path).close();
  const reader = openStoreForReading(path);
  assert.equal(reader.countRuns(), 0);
  reader.close();
});

test('opening a store that is up to date changes not a byte of it', (t) => {
  const store = filledStore(t);
  store.close();
  const before = filesOf(dirname(store.path));
  openStoreForWriting(store.path).close();
  assert.deepEqual(filesOf(dirname(store.path)), before);
});

test('foreign keys are on: a row that refers to nothing is refused', (t) => {
  const store = filledStore(t);
  assert.throws(
    () => store.insertMessage(newMessage({ parent: 12345 })),
    storeErrorLike(/refers to one that it does not hold/, /c3\.sqlite/),
  );
  assert.throws(() => store.insertMessage(newMessage({ snapshot: 'unknown' })), storeErrorLike(/no snapshot unknown/));
  assert.throws(() => store.insertMessage(newMessage({ problem: 'unknown' })), storeErrorLike(/problem unknown/));
  assert.equal(store.counts().messages, 0);
});

const openers = [
  ['writing', openStoreForWriting],
  ['reading', openStoreForReading],
] as const;

for (const [purpose, open] of openers) {
  test(`${purpose}: a file that is no database is refused and left as it was`, (t) => {
    const folder = temporaryFolder(t);
    const path = join(folder, 'notes.txt');
    for (const content of [
      'hello',
      'SQLite format 3\0 and too short',
      'not a database, though it is longer than a header '.repeat(10),
    ]) {
      writeFileSync(path, content);
      const before = filesOf(folder);
      assert.throws(
        () => open(path),
        storeErrorLike(/notes\.txt is not a C3 store/, /not an SQLite database/, /--store/),
      );
      assert.deepEqual(filesOf(folder), before);
    }
  });

  test(`${purpose}: another program's database is refused and left as it was`, (t) => {
    const folder = temporaryFolder(t);
    const path = join(folder, 'other.sqlite');
    const other = rawConnection(t, path);
    other.exec('PRAGMA user_version = 1; CREATE TABLE decision (id)');
    other.close();
    const before = filesOf(folder);
    assert.throws(() => open(path), storeErrorLike(/other\.sqlite is not a C3 store/, /another program/));
    assert.deepEqual(filesOf(folder), before);
  });

  test(`${purpose}: a store of a newer version is refused and not a byte of it changes`, (t) => {
    const store = filledStore(t);
    store.close();
    const newer = rawConnection(t, store.path);
    newer.exec('PRAGMA user_version = 99; CREATE TABLE later (id)');
    newer.close();
    const before = filesOf(dirname(store.path));
    assert.throws(() => open(store.path), storeErrorLike(/newer version/, /99/, /update C3/));
    assert.deepEqual(filesOf(dirname(store.path)), before);
  });

  test(`${purpose}: a newer version that only the write-ahead log knows of is refused and kept`, (t) => {
    const store = filledStore(t);
    store.close();
    const newer = rawConnection(t, store.path);
    newer.exec('PRAGMA wal_autocheckpoint = 0; PRAGMA user_version = 99; CREATE TABLE later (id)');
    // What a killed process leaves behind: the log was never folded into the file.
    const folder = temporaryFolder(t);
    const path = join(folder, 'c3.sqlite');
    copyFileSync(store.path, path);
    copyFileSync(`${store.path}-wal`, `${path}-wal`);
    const before = filesOf(folder);
    assert.throws(() => open(path), storeErrorLike(/newer version/, /99/));
    // SQLite's index of the log may be beside it; the lock may not.
    const after = filesOf(folder);
    delete after['c3.sqlite-shm'];
    assert.deepEqual(after, before);
  });

  test(`${purpose}: a folder in the place of the store is refused`, (t) => {
    const folder = temporaryFolder(t);
    const path = join(folder, 'store');
    mkdirSync(path);
    assert.throws(() => open(path), storeErrorLike(/is not a file/));
    assert.deepEqual(readdirSync(folder), ['store']);
  });
}

test('a damaged store says so', (t) => {
  const store = filledStore(t);
  store.close();
  const bytes = readFileSync(store.path);
  writeFileSync(store.path, Buffer.concat([bytes.subarray(0, 100), Buffer.alloc(bytes.length - 100, 0xee)]));
  assert.throws(() => openStoreForReading(store.path), storeErrorLike(/c3\.sqlite is damaged/, /restore it/));
  const noPageSize = Buffer.from(bytes);
  noPageSize.writeUInt16BE(0xeeee, 16);
  writeFileSync(store.path, noPageSize);
  assert.throws(
    () => openStoreForReading(store.path),
    storeErrorLike(/c3\.sqlite is not a C3 store/, /left unchanged/),
  );
  writeFileSync(store.path, bytes);
  const raw = rawConnection(t, store.path);
  raw.exec('PRAGMA foreign_keys = OFF; DROP TABLE episode');
  raw.close();
  assert.throws(() => openStoreForReading(store.path), storeErrorLike(/c3\.sqlite/, /the table "episode" is missing/));
});

test('reading without a store says how to get one and makes nothing', (t) => {
  const folder = temporaryFolder(t);
  assert.throws(
    () => openStoreForReading(join(folder, 'c3.sqlite')),
    storeErrorLike(/no store at .*c3\.sqlite/, /start a run/),
  );
  assert.deepEqual(readdirSync(folder), []);
});

test('a path below a file is refused and nothing is made', (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'file'), 'x');
  const before = filesOf(folder);
  assert.throws(
    () => openStoreForWriting(join(folder, 'file', '.c3', 'c3.sqlite')),
    storeErrorLike(/cannot be opened or created/, /--store/),
  );
  assert.deepEqual(filesOf(folder), before);
});

test('a read-only folder is refused, for a new store and for one that is there', (t) => {
  const store = filledStore(t);
  store.close();
  const folder = dirname(store.path);
  const before = filesOf(folder);
  chmodSync(folder, 0o555);
  // Root may write anywhere: be nobody for a moment.
  const isRoot = process.getuid?.() === 0;
  if (isRoot) {
    chmodSync(dirname(folder), 0o755);
    process.seteuid?.(65534);
  }
  try {
    for (const path of [join(folder, 'new', 'c3.sqlite'), join(folder, 'new.sqlite'), store.path]) {
      assert.throws(() => openStoreForWriting(path), storeErrorLike(/read-only/, /--store/));
    }
  } finally {
    if (isRoot) {
      process.seteuid?.(0);
    }
    chmodSync(folder, 0o755);
  }
  assert.deepEqual(filesOf(folder), before);
});

test('a disk too full for a new store leaves nothing behind', (t) => {
  const folder = temporaryFolder(t);
  assert.throws(
    () => openStoreForWriting(join(folder, 'a', 'b', 'c3.sqlite'), { maxPages: 20 }),
    storeErrorLike(/full/, /free some space/),
  );
  assert.deepEqual(readdirSync(folder), []);
});

test('a disk that fills up undoes the append and keeps what was stored', (t) => {
  const store = filledStore(t, { maxPages: 124 });
  let stored = 0;
  const append = (): void => {
    for (;;) {
      store.insertMessage(
        newMessage({
          text: `message ${stored} ${'x'.repeat(3000)}`,
          context: `context ${stored}`,
          contextKey: String(stored),
        }),
      );
      stored += 1;
    }
  };
  assert.throws(append, storeErrorLike(/full/, /undone/));
  assert.ok(stored > 3, `only ${stored} messages fitted`);
  const { messages, texts } = store.counts();
  assert.deepEqual({ messages, texts }, { messages: stored, texts: 2 * stored });
  const reader = openStoreForReading(store.path);
  t.after(() => reader.close());
  assert.equal(reader.message(stored).text.slice(0, 10), `message ${stored - 1} `.slice(0, 10));
});

test('Node 20 is refused before the native module is loaded', () => {
  assert.throws(() => loadSqlite('20.19.4'), storeErrorLike(/Node 22/, /20\.19\.4/, /update/));
  assert.equal(typeof loadSqlite('22.0.0'), 'function');
});

test('an older store is migrated in one transaction; a migration that fails leaves it as it was', (t) => {
  const path = join(temporaryFolder(t), 'c3.sqlite');
  openStoreForWriting(path).close();
  const second = 'CREATE TABLE second (id INTEGER PRIMARY KEY) STRICT; INSERT INTO second VALUES (5);';
  const db = rawConnection(t, path);
  const tables = (): unknown[] =>
    db.prepare("SELECT name FROM sqlite_schema WHERE name IN ('second', 'third')").pluck().all();

  assert.throws(() => migrateStore(db, path, [...MIGRATIONS, second, 'CREATE TABLE third (id); SELECT nonsense;']));
  assert.deepEqual([tables(), db.pragma('user_version', { simple: true })], [[], MIGRATIONS.length]);

  migrateStore(db, path, [...MIGRATIONS, second]);
  migrateStore(db, path, [...MIGRATIONS, second]);
  assert.deepEqual([tables(), db.pragma('user_version', { simple: true })], [['second'], MIGRATIONS.length + 1]);
  assert.deepEqual(db.prepare('SELECT id FROM second').pluck().all(), [5]);
  assert.equal(inspectFile(path, MIGRATIONS.length + 1), 'store');
  assert.throws(() => migrateStore(db, path), storeErrorLike(/newer version/));
});

test('a store of an older version is not read before it is migrated', (t) => {
  const store = filledStore(t);
  store.close();
  const raw = rawConnection(t, store.path);
  raw.pragma('user_version = 0');
  raw.close();
  assert.throws(() => openStoreForReading(store.path), storeErrorLike(/older version 0/, /engine/));
  assert.ok(existsSync(store.path));
});

/**
 * Hostile stores: what a file from elsewhere could hold in the place of our tables, and chains of messages that never
 * end. Each is read and opened for writing by a process of its own, which must refuse in one sentence, soon, and leave
 * the file as it was.
 */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { loadSqlite, type Connection } from '../../src/store/files/sqlite.ts';
import { openStoreForReading } from '../../src/store/read/reader.ts';
import { MIGRATIONS } from '../../src/store/tables/migrations.ts';
import { APPLICATION_ID } from '../../src/store/tables/schema.ts';
import { SCHEMA_HASHES, schemaHash } from '../../src/store/tables/storeSchema.ts';
import { openStoreForWriting } from '../../src/store/write/writer.ts';
import { finished } from '../unit/engine/workspace.ts';
import {
  addRun,
  ENVIRONMENT,
  INSTANCE,
  newBucket,
  newMessage,
  newEpisode,
  OTHER_INSTANCE,
  RUN,
  temporaryFolder,
} from '../unit/store/helpers.ts';
import { tally } from './harness.ts';

const schemas = tally('hostile schemas');
const chains = tally('chains of messages');
const READER = join(import.meta.dirname, 'readEverything.ts');
/** A process that takes longer hangs. */
const MOST_MILLISECONDS = 20_000;

const ENDLESS = 'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT';

/** What is planted, as SQL; each leaves a file that SQLite itself calls healthy. */
const PLANTED: Readonly<Record<string, string>> = {
  'a view in the place of a table': `ALTER TABLE run RENAME TO was; CREATE VIEW run AS ${ENDLESS} i AS id, 'c3' AS method, 1 AS seed, '' AS title, '{}' AS config, 1 AS planned_steps, 'done' AS status, '2026' AS created_at, NULL AS finished_at, NULL AS summary FROM n`,
  'a view of endless recursion beside ours': `CREATE VIEW more AS ${ENDLESS} i FROM n`,
  'a trigger that rewrites on write':
    "CREATE TRIGGER more AFTER INSERT ON label BEGIN UPDATE run SET status = 'failed'; END",
  'a trigger that never ends': `CREATE TRIGGER more AFTER INSERT ON episode BEGIN INSERT INTO environment SELECT NULL, i, '', '', 1, '' FROM (${ENDLESS} i FROM n); END`,
  'a guard that is gone': 'DROP TRIGGER decision_no_update',
  'a guard that guards nothing':
    "DROP TRIGGER decision_no_update; CREATE TRIGGER decision_no_update BEFORE UPDATE ON decision WHEN 0 BEGIN SELECT RAISE(ABORT, 'rows of decision are never changed'); END",
  'a virtual table': 'CREATE VIRTUAL TABLE more USING fts5 (body)',
  'a virtual table of all files': 'CREATE VIRTUAL TABLE more USING rtree (id, a, b)',
  'a table of nobody': 'CREATE TABLE more (id INTEGER PRIMARY KEY)',
  'a generated column': 'ALTER TABLE run ADD COLUMN more INTEGER AS (length(config))',
  'another column': "ALTER TABLE run ADD COLUMN more TEXT DEFAULT 'x'",
  'an index on an expression': 'CREATE INDEX more ON text (hex(zeroblob(1000)))',
  'an index under our name on something else':
    'DROP INDEX bucket_origin; CREATE INDEX bucket_origin ON bucket (origin COLLATE NOCASE)',
  'an index that is gone': 'DROP INDEX episode_group',
  'statistics that lie to the planner': "ANALYZE; UPDATE sqlite_stat1 SET stat = '1 1'",
  'a table without its rules':
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, ') STRICT', ')') WHERE name = 'episode'",
  'another collation':
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'method TEXT NOT NULL', 'method TEXT COLLATE NOCASE NOT NULL') WHERE name = 'run'",
  'a check that computes':
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'title TEXT NOT NULL', 'title TEXT NOT NULL CHECK (length(hex(zeroblob(100000000))) > 0)') WHERE name = 'run'",
  'SQL that cannot be read':
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE run (' WHERE name = 'run'",
  'two tables on one page':
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET name = 'label_bucket' WHERE name = 'label_message'",
};

interface Answer {
  readonly values?: number;
  readonly refused?: string;
  readonly untyped?: string;
}

async function ask(path: string, ...mode: readonly string[]): Promise<Answer> {
  const child = spawn(process.execPath, ['--max-old-space-size=512', READER, path, ...mode], {
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: MOST_MILLISECONDS,
    killSignal: 'SIGKILL',
  });
  const { code, stdout, stderr } = await finished(child);
  assert.equal(code, 0, code === null ? `it hangs: ${MOST_MILLISECONDS} ms` : stderr);
  const answer: unknown = JSON.parse(stdout);
  assert.ok(typeof answer === 'object' && answer !== null);
  return answer;
}

function planted(path: string, sql: string): void {
  const db = new (loadSqlite())(path);
  try {
    db.unsafeMode();
    db.pragma('foreign_keys = OFF');
    db.pragma('legacy_alter_table = ON');
    db.exec(sql);
  } finally {
    db.close();
  }
}

/** A store of a version, as C3 made it then, with a row. */
function storeOfVersion(path: string, version: number): void {
  const db: Connection = new (loadSqlite())(path);
  try {
    for (const sql of MIGRATIONS.slice(0, version)) {
      db.exec(sql);
    }
    db.exec(
      `INSERT INTO environment (runtime, provider, device, threads, platform) VALUES ('a', 'b', 'c', 1, 'd'); PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${version}`,
    );
  } finally {
    db.close();
  }
}

/** A chain of messages, the first without a parent, and an episode at its end. */
function chainStore(path: string, length: number): void {
  const store = openStoreForWriting(path);
  addRun(store, RUN, '2026');
  store.insertProblems([INSTANCE, OTHER_INSTANCE]);
  store.environmentId(ENVIRONMENT);
  const bucket = store.insertBucket(newBucket());
  let parent: number | null = null;
  store.transaction(() => {
    for (let position = 0; position < length; position++) {
      parent = store.insertMessage(
        newMessage({ position, parent, bucket: position === 0 ? bucket : null, text: `message ${position}` }),
      );
    }
    if (parent !== null) {
      store.insertEpisode(newEpisode(parent, 1));
    }
  });
  store.close();
}

async function refuses(path: string): Promise<void> {
  const bytes = readFileSync(path);
  for (const mode of [[], ['write']]) {
    const { refused = '', ...other } = await ask(path, ...mode);
    assert.match(refused, /^[^\n]*c3\.sqlite[^\n]*$/u, JSON.stringify(other));
    assert.match(refused, /is damaged/u);
  }
  assert.ok(readFileSync(path).equals(bytes), 'the file is as it was');
}

function copied(t: TestContext, from: string): string {
  const path = join(temporaryFolder(t), 'c3.sqlite');
  copyFileSync(from, path);
  return path;
}

/** How much is tried. */
export interface StoreSizes {
  /** Of what is planted. */
  readonly planted: number;
  /** Of what is planted in each older version. */
  readonly plantedInOlder: number;
  /** Chains that are circles. */
  readonly circles: number;
}

/** Attacks with stores, as many as the sizes say. */
export function storeAttacks(sizes: StoreSizes): void {
  describe('a store whose schema is not ours', () => {
    const folder = mkdtempSync(join(tmpdir(), 'c3-hostile-'));
    const healthy = join(folder, 'c3.sqlite');
    before(() => chainStore(healthy, 4));
    after(() => rmSync(folder, { recursive: true, force: true }));

    it('is known by the hash of its version, and a healthy one of any version is brought up to date', async (t) => {
      for (const [index, hash] of SCHEMA_HASHES.entries()) {
        const path = join(temporaryFolder(t), 'c3.sqlite');
        storeOfVersion(path, index + 1);
        await schemas.attempt(`version ${index + 1}`, () => {
          const db = new (loadSqlite())(path);
          assert.equal(schemaHash(db), hash);
          db.close();
          openStoreForWriting(path).close();
          openStoreForReading(path).close();
        });
      }
      assert.equal(SCHEMA_HASHES.length, MIGRATIONS.length);
    });

    for (const [what, sql] of Object.entries(PLANTED).slice(0, sizes.planted)) {
      it(`is refused: ${what}`, async (t) => {
        const path = copied(t, healthy);
        planted(path, sql);
        await schemas.attempt(what, () => refuses(path));
      });
    }

    it('is refused in any older version before anything is brought up to date', async (t) => {
      for (let version = 1; version < MIGRATIONS.length; version++) {
        for (const what of [
          'a view of endless recursion beside ours',
          'a trigger that rewrites on write',
          'a generated column',
          'a guard that is gone',
        ].slice(0, sizes.plantedInOlder)) {
          const path = join(temporaryFolder(t), 'c3.sqlite');
          storeOfVersion(path, version);
          planted(path, PLANTED[what] ?? '');
          const bytes = readFileSync(path);
          await schemas.attempt(`version ${version}, ${what}`, () => {
            assert.throws(() => openStoreForWriting(path), /is damaged or was changed by another program/);
            assert.ok(readFileSync(path).equals(bytes));
          });
        }
      }
    });
  });

  describe('a chain of messages that never ends', () => {
    for (const length of [1, 1000, 2, 3].slice(0, sizes.circles)) {
      it(`is refused: a circle of ${length}`, async (t) => {
        const path = join(temporaryFolder(t), 'c3.sqlite');
        chainStore(path, length + 2);
        const db = new (loadSqlite())(path);
        const guard =
          db.prepare<[], string>("SELECT sql FROM sqlite_schema WHERE name = 'decision_no_update'").pluck().get() ?? '';
        db.exec(`DROP TRIGGER decision_no_update; UPDATE decision SET parent = ${length + 1} WHERE id = 2; ${guard}`);
        assert.equal(db.pragma('integrity_check', { simple: true }), 'ok');
        db.close();
        await chains.attempt(`a circle of ${length}`, () => refuses(path));
      });
    }

    it('is read where it is only long', async (t) => {
      const path = join(temporaryFolder(t), 'c3.sqlite');
      chainStore(path, 10_000);
      await chains.attempt('a chain of 10,000', async () => assert.ok(((await ask(path)).values ?? 0) > 10_000));
    });
  });
}

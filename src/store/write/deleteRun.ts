/**
 * Deletes a run with all rows that belong to it, at the request of the user. Nothing else deletes
 * rows. The rows of a run follow from the foreign keys of the schema.
 */

import { C3Error } from '../../shared/errors.ts';
import { toStoreError, type Connection, type Session } from '../files/sqlite.ts';
import type { DeletedRun, StoreWriter } from '../types.ts';

/** Tables of rows that runs share, which stay while needed; those that refer to others come first. */
const SHARED = ['context', 'instance', 'text', 'environment'] as const;
/** Is deleted with its context. */
const CONTEXT_PART = 'context_base';

/** A column of a table, and the table whose key it holds. */
interface Reference {
  readonly table: string;
  readonly column: string;
  readonly parent: string;
  readonly key: string;
}

/** @param forget clears the caches of the writer, whose rows may be gone */
export function runDeleter({ db, path }: Session, forget: () => void): Pick<StoreWriter, 'deleteRun'> {
  return {
    deleteRun: (run) => {
      const before = databaseBytes(db);
      // During the deletion, rows refer to deleted ones. All references are checked before the commit.
      db.pragma('foreign_keys = OFF');
      try {
        const weights = db.transaction(() => deleteRows(db, run)).immediate();
        db.exec('VACUUM');
        db.pragma('wal_checkpoint(TRUNCATE)');
        return { bytes: Math.max(0, before - databaseBytes(db)), weights };
      } catch (error) {
        throw toStoreError(path, error);
      } finally {
        db.pragma('foreign_keys = ON');
        forget();
      }
    },
  };
}

function deleteRows(db: Connection, run: string): DeletedRun['weights'] {
  const weights = db
    .prepare<{ run: string }, string>(
      'SELECT weights FROM snapshot WHERE run = @run EXCEPT SELECT weights FROM snapshot WHERE run <> @run',
    )
    .pluck()
    .all({ run });
  const references = readTableReferences(db);
  withoutGuards(db, () => {
    db.exec('CREATE TEMP TABLE unsaid AS SELECT DISTINCT message FROM decision WHERE false');
    db.prepare('INSERT INTO unsaid SELECT DISTINCT message FROM decision WHERE run = ?').run(run);
    deleteOwned(db, references, run);
    deleteShared(db, references);
    db.exec('DROP TABLE unsaid');
  });
  const [dangling] = db.prepare<[], { table: string; parent: string }>('PRAGMA foreign_key_check').all();
  if (dangling !== undefined) {
    throw new C3Error(
      'store',
      `Run ${run} cannot be deleted: a row of the table ${dangling.table} needs one of ${dangling.parent} that would go with it, or is gone; nothing was changed. \`c3 doctor\` examines the store.`,
    );
  }
  return weights;
}

/** Deletes the rows of a run, and repeatedly the rows that refer to deleted ones. */
function deleteOwned(db: Connection, references: readonly Reference[], run: string): void {
  const ofRuns = references.filter(({ parent }) => parent === 'run');
  for (const { table, column } of ofRuns) {
    db.prepare(`DELETE FROM ${table} WHERE ${column} = ?`).run(run);
  }
  db.prepare('DELETE FROM run WHERE id = ?').run(run);
  const withRun = new Set(ofRuns.map(({ table }) => table));
  const shared = new Set<string>(SHARED);
  const dangling = references
    .filter(({ table, parent }) => !withRun.has(table) && !shared.has(table) && !shared.has(parent))
    .map(({ table, column, parent, key }) =>
      db.prepare(`DELETE FROM ${table} WHERE ${column} NOT IN (SELECT ${key} FROM ${parent})`),
    );
  for (let gone = 1; gone > 0;) {
    gone = dangling.reduce((sum, statement) => sum + statement.run().changes, 0);
  }
}

/** Deletes shared rows that no run refers to any more, and their entries in the full-text indexes. */
function deleteShared(db: Connection, references: readonly Reference[]): void {
  db.exec(`
    INSERT INTO message_search (message_search, rowid, body)
      SELECT 'delete', id, body FROM text JOIN unsaid ON unsaid.message = text.id
      WHERE NOT EXISTS (SELECT 1 FROM decision WHERE decision.message = text.id);
    CREATE TEMP TABLE needed AS
      WITH RECURSIVE part (id) AS (
        SELECT context FROM decision UNION SELECT base FROM ${CONTEXT_PART} JOIN part ON ${CONTEXT_PART}.context = part.id)
      SELECT id FROM part;
    DELETE FROM ${CONTEXT_PART} WHERE context NOT IN (SELECT id FROM needed);
    DELETE FROM context WHERE id NOT IN (SELECT id FROM needed);
    DROP TABLE needed;
    INSERT INTO question_search (question_search, rowid, question)
      SELECT 'delete', id, question FROM instance WHERE ${unreferencedSql(references, 'instance')};`);
  for (const table of SHARED.slice(1)) {
    db.exec(`DELETE FROM ${table} WHERE ${unreferencedSql(references, table)}`);
  }
}

const unreferencedSql = (references: readonly Reference[], shared: string): string =>
  references
    .filter(({ parent }) => parent === shared)
    .map(({ table, column, key }) => `${key} NOT IN (SELECT ${column} FROM ${table} WHERE ${column} IS NOT NULL)`)
    .join(' AND ');

function readTableReferences(db: Connection): readonly Reference[] {
  return db
    .prepare<[], Reference>(
      `SELECT one.name AS "table", ref."from" AS "column", ref."table" AS parent,
        (SELECT name FROM pragma_table_info(ref."table") WHERE pk = 1) AS "key"
       FROM pragma_table_list AS one JOIN pragma_foreign_key_list(one.name) AS ref
       WHERE one.schema = 'main' AND one.type = 'table'`,
    )
    .all();
}

/** Calls `work` while the triggers that refuse deletions are dropped; within a transaction. */
function withoutGuards(db: Connection, work: () => void): void {
  const guards = db
    .prepare<[], { name: string; sql: string }>(
      String.raw`SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND name LIKE '%\_no\_delete' ESCAPE '\'`,
    )
    .all();
  for (const { name } of guards) {
    db.exec(`DROP TRIGGER ${name}`);
  }
  work();
  for (const { sql } of guards) {
    db.exec(sql);
  }
}

const databaseBytes = (db: Connection): number =>
  Number(db.pragma('page_count', { simple: true })) * Number(db.pragma('page_size', { simple: true }));

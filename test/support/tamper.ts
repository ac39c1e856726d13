/** Changes rows of a store as another program could, by removing its guards and restoring them. */

import type { Connection } from '../../src/store/files/sqlite.ts';

interface Guard {
  readonly name: string;
  readonly sql: string;
}

/** Runs work on a store without the guards of its rows. */
export function runUnguarded<Result>(db: Connection, work: () => Result): Result {
  const guards = db
    .prepare<[], Guard>(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND (name LIKE '%\\_no\\_update' ESCAPE '\\' OR name LIKE '%\\_no\\_delete' ESCAPE '\\')",
    )
    .all();
  for (const { name } of guards) {
    db.exec(`DROP TRIGGER ${name}`);
  }
  const result = work();
  for (const guard of guards) {
    db.exec(guard.sql);
  }
  return result;
}

/**
 * Runs SQL on a store without its guards.
 * @returns the number of rows that the last statement changed
 */
export function tamper(db: Connection, sql: string): number {
  return runUnguarded(db, () => db.prepare(sql).run().changes);
}

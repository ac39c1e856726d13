/** Changes rows of a store as another program could: its guards are taken away and put back. */
import type { Connection } from '../../src/store/files/sqlite.ts';

interface Guard {
  readonly name: string;
  readonly sql: string;
}

/** Runs SQL on a store while nothing guards its rows. @returns the rows that the last statement changed */
export function tamper(db: Connection, sql: string): number {
  const guards = db
    .prepare<[], Guard>(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND (name LIKE '%\\_no\\_update' ESCAPE '\\' OR name LIKE '%\\_no\\_delete' ESCAPE '\\')",
    )
    .all();
  for (const { name } of guards) {
    db.exec(`DROP TRIGGER ${name}`);
  }
  const { changes } = db.prepare(sql).run();
  for (const guard of guards) {
    db.exec(guard.sql);
  }
  return changes;
}

/** Stores as an earlier version left them, made from stores of this one. */

import { loadSqlite, type Connection } from '../../../src/store/files/sqlite.ts';
import { MIGRATIONS } from '../../../src/store/tables/migrations.ts';

interface Named {
  readonly type: string;
  readonly name: string;
}

const OBJECTS = "SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY type = 'table', name";

/**
 * Takes everything out of a store that came with a migration or after it. Columns that later versions added stay.
 * @param migration the first that the earlier version did not have, one of MIGRATIONS
 */
export function makeEarlier(db: Connection, migration: string): void {
  const version = MIGRATIONS.indexOf(migration);
  const earlier = new (loadSqlite())(':memory:');
  for (const sql of MIGRATIONS.slice(0, version)) {
    earlier.exec(sql);
  }
  const kept = new Set(
    earlier
      .prepare<[], Named>(OBJECTS)
      .all()
      .map(({ type, name }) => `${type} ${name}`),
  );
  earlier.close();
  for (const { type, name } of db.prepare<[], Named>(OBJECTS).all()) {
    if (!kept.has(`${type} ${name}`)) {
      // Triggers and indexes first; those of a table go with it.
      db.exec(`DROP ${type} IF EXISTS "${name}"`);
    }
  }
  db.pragma(`user_version = ${version}`);
}

/** Stores as an earlier version left them, made from stores of this one. */

import { loadSqlite, type Connection } from '../../../src/store/files/sqlite.ts';
import { MIGRATIONS } from '../../../src/store/tables/migrations.ts';

interface Named {
  readonly type: string;
  readonly name: string;
}

const OBJECTS = "SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY type = 'table', name";

/**
 * Takes everything out of a store that came with a migration or after it.
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
  const columnsOf = (store: Connection, table: string): string[] =>
    store
      .prepare<[string], { name: string }>('SELECT name FROM pragma_table_info(?)')
      .all(table)
      .map(({ name }) => name);
  for (const { type, name } of db.prepare<[], Named>(OBJECTS).all()) {
    if (!kept.has(`${type} ${name}`)) {
      // Triggers and indexes first; those of a table go with it.
      db.exec(`DROP ${type} IF EXISTS "${name}"`);
    } else if (type === 'table') {
      const columns = new Set(columnsOf(earlier, name));
      for (const column of columnsOf(db, name).filter((one) => !columns.has(one))) {
        db.exec(`ALTER TABLE "${name}" DROP COLUMN "${column}"`);
      }
    }
  }
  earlier.close();
  db.pragma(`user_version = ${version}`);
}

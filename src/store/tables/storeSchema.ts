/**
 * The schema of each version of a store, and the check that a file has exactly that schema. A file
 * from elsewhere could have views in place of tables, triggers that rewrite appended rows, or columns
 * and indexes that compute. None of them is run.
 */

import { hash } from 'node:crypto';
import { damagedStoreError, loadSqlite } from '../files/sqlite.ts';
import type { Connection } from '../files/sqlite.ts';

/** One object of a schema. SQLite's own indexes of keys have no SQL. */
interface SchemaObject {
  readonly type: string;
  readonly name: string;
  readonly table: string;
  readonly sql: string | null;
}

/** SHA-256 of the schema of each version, for a fast check. A test keeps them correct. */
export const SCHEMA_HASHES: readonly string[] = [
  '22b7fb12aaeed3de03a28177e5cbe8a4cdd037f7cc09e0a6776e6ff9bed43e7b',
  'abf4136ed214fbec51bb8311bc5eeeda17795d4f060cbab028b46b7d5fc1eb97',
  '55d18cc4ff5bbe209db34e0240eab51fb2f922c9ac061c4955be3b8daf510b04',
  '4fe284012dff1a7091fa5e2b44b90449aeef579ba387892e0a18f82b449b2418',
  '789ad38f6000f6e003ed9fdea3488a29d9842fc566323a6a1409e3f86e567668',
  '6292df0b5e9b029d8689f6c7aa508d850db95a6fa856eb7470fa3f4d0c5b005c',
  '9b3efced0b3a770d7b549e39f1e183eed458941c0b1c4a32ace64f004c0f54e8',
  '68627a0e3b4f0f13280994313d73d04ea13e33c43258277669c93a99321e6beb',
  '4621fc6c29cf7c8a173c2a9ed55e8bf6de78b540146038969b9b1ca49b36abdc',
  '23235169eff820db57b64e5c9b4b97454d23bb7545b86c55220a4a0e6f70f9d1',
  'b78b381b45d43a463a94018d78628e6ef678ca1c99db4a2e02ccfad6809041ae',
  '6387827ef2fbaa0f2befd6cf9f02567da0f91a31ad30a5b24271ad25bd34841b',
  '576a9cc694cc69e18974ca335c411639915a6a432cb53dad38fe0b6b15d04612',
  '586a4ea7f1f8aaa3fdc6c4485df99face33170fd639ce09ee0ec2d6ed7dd8d88',
  'bc75213d30cb1d93f2f36b1912646060609bbb59fea04dd9c8736a53aef95a3a',
  'bc75213d30cb1d93f2f36b1912646060609bbb59fea04dd9c8736a53aef95a3a',
  'f89b451b013f7cc9c3874f313f8043e8760cf5ac30dfe4c9cc8027eecfe302ca',
  '5bcebca4ec23b1dd0084529f9d59035c0f70da62b178485b15df29eb567b945e',
  '0dc299852e04959bf5a9e2d0597f5459d326a09ee76ed51207b5d3854015ad02',
  '737b3544998a7fe8f3aba976e1a9a14f95cdaa8e35beb092111694397cdc9fc6',
  '98c4f583db03eb34dc53f35e7e77f4df6a00c0ad8eb0132a790440670bb66ed8',
  '1f57cfb380cc0c149871a44d6fd8b0b3c91592ea1bfac6c386d8532a7618f3bc',
];

/** Longest name in a message. */
const LONGEST_NAME = 60;

/** Returns the hash of a schema, independent of the order of its objects and of line breaks. */
export function schemaHash(db: Connection): string {
  return hashSchemaObjects(readSchemaObjects(db));
}

/**
 * Lists the differences between the schema of a store and that of its version, each as a part of a
 * sentence.
 * @param version version of the store
 * @param migrations the SQL of each version
 */
export function listSchemaFaults(db: Connection, version: number, migrations: readonly string[]): readonly string[] {
  const found = readSchemaObjects(db);
  if (hashSchemaObjects(found) === SCHEMA_HASHES[version - 1]) {
    return [];
  }
  const expected = new Map(
    expectedObjects(migrations.slice(0, version)).map((object) => [schemaObjectKey(object), object]),
  );
  const faults: string[] = [];
  for (const object of found) {
    const own = expected.get(schemaObjectKey(object));
    expected.delete(schemaObjectKey(object));
    if (own === undefined) {
      faults.push(`the ${describeSchemaObject(object)} was not created by C3`);
    } else if (own.sql !== object.sql || own.table !== object.table) {
      faults.push(`the ${describeSchemaObject(object)} is not as C3 makes it`);
    }
  }
  return [...faults, ...[...expected.values()].map((object) => `the ${describeSchemaObject(object)} is missing`)];
}

/**
 * Requires the exact schema of a version.
 * @throws C3Error('store') if it differs
 */
export function requireOwnSchema(db: Connection, path: string, version: number, migrations: readonly string[]): void {
  const [first, ...others] = listSchemaFaults(db, version, migrations);
  if (first === undefined) {
    return;
  }
  const more = others.length === 0 ? '' : `, and ${others.length} more`;
  throw damagedStoreError(path, `${first}${more}`);
}

function readSchemaObjects(db: Connection): readonly SchemaObject[] {
  // A damaged table may hold anything.
  const rows = db
    .prepare<[], Readonly<Record<'type' | 'name' | 'table' | 'sql', unknown>>>(
      'SELECT type, name, tbl_name AS "table", sql FROM sqlite_schema',
    )
    .all();
  return rows.map(({ type, name, table, sql }) => ({
    type: String(type),
    name: String(name),
    table: String(table),
    sql: typeof sql === 'string' ? sql.replace(/\s+/gu, ' ').trim() : null,
  }));
}

function expectedObjects(migrations: readonly string[]): readonly SchemaObject[] {
  const db = new (loadSqlite())(':memory:');
  try {
    for (const sql of migrations) {
      db.exec(sql);
    }
    return readSchemaObjects(db);
  } finally {
    db.close();
  }
}

const schemaObjectKey = ({ type, name }: SchemaObject): string => `${type} ${name}`;

function hashSchemaObjects(objects: readonly SchemaObject[]): string {
  const lines = objects.map(({ type, name, table, sql }) => JSON.stringify([type, name, table, sql])).sort();
  return hash('sha256', lines.join('\n'));
}

const describeSchemaObject = ({ type, name }: SchemaObject): string =>
  `${type} ${JSON.stringify(name.slice(0, LONGEST_NAME))}`;

/**
 * Copies the undamaged rows of a damaged store into a new one. In a damaged page, rows are read one by
 * one. Each row is checked by its hash, and kept only if all rows that it refers to were kept. Derived
 * rows are computed again. The damaged store is only read.
 */

import { closeSync, existsSync } from 'node:fs';
import { createNew } from '../../files/newFile.ts';
import { makeOut } from '../../files/outFile.ts';
import { resolveRealFile } from '../../files/realFile.ts';
import { C3Error } from '../../shared/errors.ts';
import { storeErrorCode, connect, connectForReading, toStoreError, type Connection } from '../files/sqlite.ts';
import { CONTEXT_BASES, EMPTY_KEY } from '../tables/contextBases.ts';
import { isWholeEvent } from '../tables/environmentEvents.ts';
import type { HeadlineRule } from '../tables/headlines.ts';
import { MIGRATIONS } from '../tables/migrations.ts';
import { APPLICATION_ID } from '../tables/schema.ts';
import { decodeInt32, textHash, tokenHash } from '../tokens.ts';
import { openStoreForWriting } from '../write/writer.ts';

/** The result of copying one table. */
export interface Salvaged {
  readonly table: string;
  readonly copied: number;
  /** Rows that are damaged or refer to a damaged one. */
  readonly left: number;
  /** Row numbers between the others at which nothing could be read. */
  readonly unreadable: number;
}

type Row = Readonly<Record<string, unknown>>;

type Refs = readonly (readonly [parent: string, key: unknown])[];

/** The tables that are not derived from others. `alternative` has no row numbers. */
const SOURCES = [
  'run',
  'environment',
  'instance',
  'text',
  'context',
  'context_base',
  'snapshot',
  'step',
  'bucket',
  'decision',
  'alternative',
  'episode',
  'replay',
  'credit',
  'verification',
  'label',
  'diagnostic_sample',
  'diagnostic_bucket',
  'run_account',
] as const;
/** Migrations from this index on compute derived rows. */
const BEFORE_DERIVED = 5;
const WITHOUT_NUMBERS = 'alternative';
const PAGE = 500;
/** Number of unreadable rows after which the search ends if the number of the last row is unknown. */
const FARTHEST = 4_000;

/**
 * Copies a store. The new one is created whole or not at all.
 * @throws C3Error('input') if `to` exists
 * @throws C3Error('store') if nothing of `from` can be read, or `to` cannot be written
 */
export function salvageStore(from: string, to: string, headlines: HeadlineRule): readonly Salvaged[] {
  const target = resolveRealFile(to);
  const { db: source } = connectForReading(resolveRealFile(from));
  const taken = (): C3Error =>
    new C3Error('input', `${to} already exists and was left unchanged; name a file that does not exist yet.`);
  try {
    if (existsSync(target)) {
      throw taken();
    }
    return makeOut(
      target,
      (unfinished) => {
        closeSync(createNew(unfinished));
        const done = fillStore(source, unfinished);
        openStoreForWriting(unfinished, { headlines }).close();
        return done;
      },
      (error) => (storeErrorCode(error) === 'EEXIST' ? taken() : toStoreError(target, error)),
      ['-wal', '-shm', '-journal', '.seal'],
    );
  } catch (error) {
    throw toStoreError(target, error);
  } finally {
    source.close();
  }
}

function fillStore(source: Connection, target: string): readonly Salvaged[] {
  const db = connect(target, 'write');
  try {
    db.pragma('foreign_keys = OFF');
    for (const sql of [...MIGRATIONS.slice(0, BEFORE_DERIVED), CONTEXT_BASES]) {
      db.exec(sql);
    }
    const whole = findWholeRows(source, db);
    const done = db.transaction(() =>
      SOURCES.map((table) => copyTable({ source, db, table }, (key) => whole.get(table)?.kept.has(key) === true)),
    )();
    db.transaction(() => {
      for (const sql of MIGRATIONS.slice(BEFORE_DERIVED).filter((later) => later !== CONTEXT_BASES)) {
        db.exec(sql);
      }
      db.pragma(`application_id = ${APPLICATION_ID}`);
      db.pragma(`user_version = ${MIGRATIONS.length}`);
      const runs = new Set<unknown>(db.prepare('SELECT id FROM run').pluck().all());
      for (const table of ['evaluation', 'method_state', 'stage', 'stage_state']) {
        const snapshots = whole.get('snapshot')?.kept;
        const isKept = (snapshot: unknown): boolean => snapshot === undefined || snapshots?.has(snapshot) === true;
        done.push(copyTable({ source, db, table }, (_, { run, snapshot }) => runs.has(run) && isKept(snapshot)));
      }
      for (const table of ['spending', 'run_note']) {
        done.push(copyTable({ source, db, table }, (_, { run }) => runs.has(run)));
      }
      const isWhole = (verification: unknown): boolean => whole.get('verification')?.kept.has(verification) === true;
      done.push(copyTable({ source, db, table: 'verification_difference' }, isWhole));
      const isKept = (message: unknown): boolean => whole.get('decision')?.kept.has(message) === true;
      done.push(copyTable({ source, db, table: 'measurement' }, isKept));
      done.push(copyTable({ source, db, table: 'episode_note' }, (_, { leaf }) => isKept(leaf)));
      done.push(...copyEvents({ source, db }, isKept, runs));
    })();
    return done;
  } finally {
    db.close();
  }
}

/** Copies environment events whose message and earlier events are whole, and their links to messages. */
function copyEvents(
  place: Omit<TableCopy, 'table'>,
  isKept: (message: unknown) => boolean,
  runs: ReadonlySet<unknown>,
): Salvaged[] {
  const kept = new Set<unknown>();
  const events = copyTable({ ...place, table: 'environment_event' }, (key, row) => {
    const { run, parent, previous } = row;
    const isWanted =
      isWholeEvent(row) &&
      runs.has(run) &&
      (parent === null || isKept(parent)) &&
      (previous === null || kept.has(previous));
    if (isWanted) {
      kept.add(key);
    }
    return isWanted;
  });
  const links = copyTable(
    { ...place, table: 'decision_events' },
    (_, { decision: message, event }) => isKept(message) && kept.has(event),
  );
  return [events, links];
}

interface Whole {
  readonly kept: Map<unknown, Refs>;
}

interface TableCopy {
  readonly source: Connection;
  readonly db: Connection;
  readonly table: string;
}

/** Finds the undamaged rows of every table, and the rows that they refer to. */
function findWholeRows(source: Connection, db: Connection): ReadonlyMap<string, Whole> {
  const tables = new Map<string, Whole>();
  const empty = textHash('');
  let emptyText: unknown;
  for (const table of SOURCES) {
    const references = db
      .prepare<[], { from: string; parent: string }>(
        `SELECT "from", "table" AS parent FROM pragma_foreign_key_list('${table}')`,
      )
      .all();
    const kept = new Map<unknown, Refs>();
    forEachRow({ source, db, table }, (key, row) => {
      if (isRowWhole(table, row)) {
        // A context that continues another one is incomplete without it.
        const goesOn = table === 'context' && row['text'] === emptyText && row['key'] !== EMPTY_KEY;
        kept.set(key, [
          ...references.flatMap(({ from, parent }) => (row[from] === null ? [] : [[parent, row[from]] as const])),
          ...(goesOn ? [['context_base', key] as const] : []),
        ]);
        emptyText = table === 'text' && row['sha256'] === empty ? key : emptyText;
      }
    });
    tables.set(table, { kept });
  }
  for (let changed = true; changed;) {
    changed = false;
    for (const { kept } of tables.values()) {
      for (const [key, refs] of kept) {
        if (refs.every(([parent, named]) => tables.get(parent)?.kept.has(named) === true)) {
          continue;
        }
        kept.delete(key);
        changed = true;
      }
    }
  }
  return tables;
}

function isRowWhole(table: string, { body, sha256, tokens, token_hash: named, logprobs, parent, id }: Row): boolean {
  switch (table) {
    case 'text':
      return typeof body === 'string' && textHash(body) === sha256;
    case 'decision':
      return (
        tokens instanceof Buffer &&
        logprobs instanceof Buffer &&
        tokens.length % 4 === 0 &&
        tokenHash(decodeInt32(tokens)) === named &&
        (logprobs.length === 0 || logprobs.length === tokens.length) &&
        (parent === null || Number(parent) < Number(id))
      );
    default:
      return true;
  }
}

/** Copies the wanted rows of a table, except those that violate a constraint. */
function copyTable(place: TableCopy, wanted: (key: unknown, row: Row) => boolean): Salvaged {
  const { db, table } = place;
  const { all } = listColumns(place);
  const insert = db.prepare<[readonly unknown[]]>(
    `INSERT INTO ${table} (${all.join(', ')}) VALUES (${all.map(() => '?').join(', ')})`,
  );
  const counted = { copied: 0, left: 0 };
  const unreadable = forEachRow(place, (key, row) => {
    if (wanted(key, row) && tryInsert(() => insert.run(all.map((name) => row[name])))) {
      counted.copied += 1;
    } else {
      counted.left += 1;
    }
  });
  return { table, ...counted, unreadable };
}

function tryInsert(insert: () => void): boolean {
  try {
    insert();
    return true;
  } catch (error) {
    if (storeErrorCode(error)?.startsWith('SQLITE_CONSTRAINT') === true) {
      return false;
    }
    throw error;
  }
}

/** Returns all columns and the key columns of a table in the schema of the new store. */
function listColumns({ db, table }: TableCopy): { readonly all: readonly string[]; readonly key: readonly string[] } {
  const found = db
    .prepare<[], { name: string; pk: number }>(`SELECT name, pk FROM pragma_table_info('${table}')`)
    .all();
  return { all: found.map(({ name }) => name), key: found.filter(({ pk }) => pk > 0).map(({ name }) => name) };
}

/** Returns true if a table has the same schema in both stores. Other tables are not read. */
function hasSameSchema({ source, db, table }: TableCopy): boolean {
  const shapeOf = (one: Connection): unknown => {
    const sql = one.prepare<[string]>("SELECT type || ' ' || sql FROM sqlite_schema WHERE name = ?").pluck().get(table);
    return typeof sql === 'string' ? sql.replace(/\s+/gu, ' ') : null;
  };
  return shapeOf(source) === shapeOf(db);
}

/**
 * Calls `look` for all readable rows of a table.
 * @returns the number of unreadable rows
 */
function forEachRow(place: TableCopy, look: (key: unknown, row: Row) => void): number {
  if (!hasSameSchema(place)) {
    return 0;
  }
  const { source, table } = place;
  const { all, key } = listColumns(place);
  const [only = ''] = key;
  const see = (row: Row): void =>
    look(key.length === 1 ? row[only] : JSON.stringify(key.map((name) => row[name])), row);
  if (table === WITHOUT_NUMBERS) {
    try {
      for (const row of source.prepare<[], Row>(`SELECT ${all.join(', ')} FROM ${table}`).iterate()) {
        see(row);
      }
      return 0;
    } catch {
      return 1;
    }
  }
  const select = `SELECT rowid AS "#", ${all.join(', ')} FROM ${table} NOT INDEXED WHERE rowid`;
  const page = source.prepare<[number], Row>(`${select} > ? ORDER BY rowid LIMIT ${PAGE}`);
  const one = source.prepare<[number], Row>(`${select} = ?`);
  const end = lastRow(place);
  let unreadable = 0;
  let last = 0;
  for (let more = true; more;) {
    const found = tryRead(() => page.all(last));
    if (found !== null) {
      for (const row of found) {
        see(row);
      }
      last = Number(found.at(-1)?.['#'] ?? last);
      more = found.length > 0;
      continue;
    }
    // One of these rows is damaged.
    const stop = Math.min(last + PAGE, end ?? last + PAGE);
    for (let id = last + 1; id <= stop; id++) {
      const [row] = tryRead(() => one.all(id)) ?? [null];
      if (row === null) {
        unreadable += 1;
      } else if (row !== undefined) {
        see(row);
      }
    }
    last = stop;
    more = end === null ? unreadable < FARTHEST : last < end;
  }
  return unreadable;
}

/** Returns the number of a table's last row, or null if it cannot be read. */
function lastRow({ source, table }: TableCopy): number | null {
  return (
    tryRead(() => source.prepare<[], number>(`SELECT max(rowid) FROM ${table} NOT INDEXED`).pluck().all())?.[0] ?? null
  );
}

/** Returns the result of a query, or null if it meets damage. */
function tryRead<Result>(ask: () => Result): Result | null {
  try {
    return ask();
  } catch {
    return null;
  }
}

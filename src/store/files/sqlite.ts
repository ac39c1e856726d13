/** Loads better-sqlite3 and converts its errors. No other file does either. */

import { closeSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import type Database from 'better-sqlite3';
import { createNew } from '../../files/newFile.ts';
import { C3Error, toErrorMessage, type ErrorAction } from '../../shared/errors.ts';

export type Connection = Database.Database;

/** A connection and the path for its error messages. */
export interface Session {
  readonly db: Connection;
  readonly path: string;
}

export interface ReadingConnection {
  readonly db: Connection;
  /** True if the file is treated as unchanging, because its folder cannot be written. */
  readonly fixed: boolean;
}

const OLDEST_NODE = 22;
let loaded: typeof Database | undefined;

/**
 * Returns better-sqlite3's constructor, which is loaded on the first call.
 * @param nodeVersion version of the running Node; before 22, the native module would crash the process
 * @throws C3Error('store') if Node is too old or the native module cannot be loaded
 */
export function loadSqlite(nodeVersion: string = process.versions.node): typeof Database {
  if (Number.parseInt(nodeVersion, 10) < OLDEST_NODE) {
    throw new C3Error(
      'store',
      `The store needs Node ${OLDEST_NODE} or newer and this is Node ${nodeVersion}: update the editor (VS Code 1.101 or newer) or Node.`,
    );
  }
  if (loaded === undefined) {
    try {
      // A CommonJS bundle has __filename and an empty import.meta.url; in a module it is the opposite.
      const here = typeof __filename === 'string' ? __filename : import.meta.url;
      loaded = loadWithUris(() => createRequire(here)('better-sqlite3') as typeof Database);
    } catch (error) {
      throw new C3Error(
        'store',
        `SQLite could not be loaded on ${process.platform}-${process.arch} (${oneLine(error)}): reinstall the package for this platform.`,
        { cause: error },
      );
    }
  }
  return loaded;
}

/**
 * Loads the native module with SQLite's URI file names enabled, which it reads once from the
 * environment. Only a URI can declare that a file does not change.
 */
function loadWithUris(load: () => typeof Database): typeof Database {
  const before = process.env[ADDRESSES];
  process.env[ADDRESSES] = '1';
  try {
    const Sqlite = load();
    // The first connection loads the native part of the module.
    new Sqlite(':memory:').close();
    return Sqlite;
  } finally {
    if (before === undefined) {
      Reflect.deleteProperty(process.env, ADDRESSES);
    } else {
      process.env[ADDRESSES] = before;
    }
  }
}

const ADDRESSES = 'SQLITE_USE_URI';

/**
 * Opens an existing store for reading, even if its folder cannot be written. SQLite then cannot create
 * the index of the write-ahead log, and needs none if there is no log.
 * @throws C3Error('store') for a log that must first be merged
 */
export function connectForReading(path: string): ReadingConnection {
  const db = connect(path, 'read');
  try {
    // The first access to the file is the one that fails.
    db.pragma('schema_version');
    return { db, fixed: false };
  } catch (error) {
    db.close();
    if (!/^SQLITE_(?:CANTOPEN|READONLY)/.test(storeErrorCode(error) ?? '')) {
      throw toStoreError(path, error);
    }
    const log = ['-wal', '-journal']
      .map((suffix) => path + suffix)
      .find((beside) => (statSync(beside, { throwIfNoEntry: false })?.size ?? 0) > 0);
    if (log === undefined) {
      return { db: connectToUri(path, `${pathToFileURL(path).href}?immutable=1`), fixed: true };
    }
    const fault = `The store ${path} is in a folder that cannot be written and has a log (${log}) that must be merged into it before it can be read`;
    throw new C3Error(
      'store',
      `${fault}: copy both files to a folder that can be written, and name the copy with --store (in VS Code the setting c3.store.path).`,
      { cause: error, action: CHOOSE_PLACE },
    );
  }
}

/**
 * Opens a connection with the common settings. trusted_schema is off because a store may come from
 * someone else. A new file is made readable only for the user, regardless of the umask: SQLite gives
 * its log and its index the same mode.
 */
export function connect(path: string, mode: 'read' | 'write'): Connection {
  if (mode === 'write') {
    makePrivate(path);
  }
  return open(path, path, mode);
}

/**
 * Opens a connection that reads a file by a URI.
 * @param path name of the file in errors
 */
export const connectToUri = (path: string, address: string): Connection => open(path, address, 'read');

/**
 * Opens a private database in an unnamed temporary file. It needs little memory and is deleted when it
 * is closed. It cannot be rolled back.
 */
export function connectTemporary(): Connection {
  const db = open('(temporary)', '', 'write');
  db.pragma('journal_mode = OFF');
  return db;
}

function open(path: string, address: string, mode: 'read' | 'write'): Connection {
  const Sqlite = loadSqlite();
  const options = { readonly: mode === 'read', fileMustExist: mode === 'read', timeout: BUSY_MILLISECONDS };
  const db = translateErrors(path, () => new Sqlite(address, options));
  try {
    return translateErrors(path, () => {
      db.pragma('trusted_schema = OFF');
      db.pragma('cell_size_check = ON');
      db.pragma('foreign_keys = ON');
      prepareOnFirstUse(db);
      return db;
    });
  } catch (error) {
    db.close();
    throw error;
  }
}

function makePrivate(path: string): void {
  try {
    closeSync(createNew(path));
  } catch (error) {
    // Opening the file reports what prevents its creation.
    if (storeErrorCode(error) !== 'EEXIST') {
      throw toStoreError(path, error);
    }
  }
}

const BUSY_MILLISECONDS = 5000;

/** Runs `work` and converts SQLite errors to C3Error('store'). */
export function translateErrors<Result>(path: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw toStoreError(path, error);
  }
}

/** Wraps a function so that its SQLite errors become C3Error('store') with the path of the store. */
export function withStoreErrors<Args extends unknown[], Result>(
  session: Session,
  work: (...args: Args) => Result,
): (...args: Args) => Result {
  return (...args) =>
    translateErrors(session.path, () => {
      try {
        return work(...args);
      } catch (error) {
        // Such an error means that a row holds another type of value than was stored.
        if (error instanceof SyntaxError || error instanceof TypeError || error instanceof RangeError) {
          throw damagedStoreError(session.path, oneLine(error), error);
        }
        throw error;
      }
    });
}

/** Converts an SQLite or file-system error of the store to a C3Error; returns others unchanged. */
export function toStoreError(path: string, error: unknown): unknown {
  const code = storeErrorCode(error);
  if (error instanceof C3Error || code === undefined) {
    return error;
  }
  return new C3Error('store', describeStoreError(path, code, oneLine(error)), {
    cause: error,
    action: ELSEWHERE.test(code) ? CHOOSE_PLACE : undefined,
  });
}

/** The action to choose another place for the store in the editor, for errors that name --store. */
export const CHOOSE_PLACE: ErrorAction = { kind: 'openSetting', setting: 'c3.store.path' };
export const ANOTHER_PLACE = 'choose another place with --store (in VS Code the setting c3.store.path)';

/** Error codes of a place that cannot be used or holds something else. */
const ELSEWHERE = /^(?:SQLITE_(?:READONLY|CANTOPEN|NOTADB)|E(?!NOSPC|DQUOT))/;

function describeStoreError(path: string, code: string, detail: string): string {
  if (code === 'SQLITE_FULL' || code === 'SQLITE_IOERR_SHMSIZE' || code === 'ENOSPC' || code === 'EDQUOT') {
    return `The store ${path} could not be written because the disk or the store's size limit is full; the change was undone: free some space and try again.`;
  }
  if (code.startsWith('SQLITE_READONLY') || code === 'EACCES' || code === 'EROFS' || code === 'EPERM') {
    return `The store ${path} or its folder is read-only: ${ANOTHER_PLACE}, or allow writing there.`;
  }
  if (code.startsWith('SQLITE_CANTOPEN') || code.startsWith('E')) {
    return `The store ${path} cannot be opened or created there (${detail}): check that its folder exists and can be written, or ${ANOTHER_PLACE}.`;
  }
  if (code === 'SQLITE_NOTADB') {
    return notAStoreMessage(path, 'it is not an SQLite database');
  }
  if (code.startsWith('SQLITE_CORRUPT')) {
    return `The store ${path} is damaged (${detail}): restore it from a copy, or move it away to begin a new one.`;
  }
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')) {
    return `The store ${path} is busy in another process: wait for it and try again.`;
  }
  if (code.startsWith('SQLITE_IOERR')) {
    return `The disk failed while the store ${path} was in use (${code}): check the disk and its free space, then try again.`;
  }
  if (code === 'SQLITE_CONSTRAINT_FOREIGNKEY') {
    return (
      `The store ${path} refused a row that refers to one that it does not hold: ` +
      'insert the run, snapshot, bucket or message first.'
    );
  }
  if (code.startsWith('SQLITE_CONSTRAINT')) {
    return `The store ${path} refused a row (${detail}); nothing was changed: correct the row.`;
  }
  return `The store ${path} failed (${code}: ${detail}): run \`c3 doctor\` on it.`;
}

/**
 * Returns the error for a store that differs from what C3 writes.
 * @param what the fault, as a part of a sentence
 */
export function damagedStoreError(path: string, what: string, cause?: unknown): C3Error {
  return new C3Error(
    'store',
    `The store ${path} is damaged or was changed by another program (${what}) and was left unchanged: run \`c3 doctor\` for details.`,
    { cause },
  );
}

/** Returns the message for a file that is not a C3 store. */
export function notAStoreMessage(path: string, why: string): string {
  return `${path} is not a C3 store (${why}) and was left unchanged: ${ANOTHER_PLACE}.`;
}

/** Returns the code of an SQLite (SQLITE_...) or system error (E...), else undefined. */
export function storeErrorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') {
    return undefined;
  }
  return /^(SQLITE_|E[A-Z0-9]+$)/.test(error.code) ? error.code : undefined;
}

function oneLine(error: unknown): string {
  return toErrorMessage(error).replace(/\s+/g, ' ').slice(0, 200);
}

// Statements are prepared on first use. A store has about 130 of them and a connection uses about ten.
// Preparing all took half the time of opening a store, and every click on "Replay alternatives" opens
// it.

/** Makes a connection prepare statements on first use. Errors in a statement are then thrown there. */
function prepareOnFirstUse(db: Database.Database): void {
  const prepare = db.prepare.bind(db);
  Object.defineProperty(db, 'prepare', { value: (sql: string) => prepareLazily(() => prepare(sql)) });
}

/** The methods of a statement that the store uses. */
type Used = Pick<Database.Statement, 'run' | 'get' | 'all' | 'iterate' | 'pluck'>;

function prepareLazily(prepare: () => Used): Used {
  let prepared: Used | undefined;
  const own = (): Used => (prepared ??= prepare());
  return {
    run: (...values) => own().run(...values),
    get: (...values) => own().get(...values),
    all: (...values) => own().all(...values),
    iterate: (...values) => own().iterate(...values),
    pluck: (on = true) => prepareLazily(() => own().pluck(on)) as Database.Statement,
  };
}

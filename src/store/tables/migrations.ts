/** Recognizes C3 stores and migrates older ones. Inspecting a file never changes it. */

import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { C3Error } from '../../shared/errors.ts';
import {
  ANOTHER_PLACE,
  CHOOSE_PLACE,
  storeErrorCode,
  connectForReading,
  damagedStoreError,
  notAStoreMessage,
  toStoreError,
} from '../files/sqlite.ts';
import type { Connection } from '../files/sqlite.ts';
import { describeParentFault } from '../tree.ts';
import { BUCKET_MEASURES } from './bucketMeasures.ts';
import { CONTEXT_BASES } from './contextBases.ts';
import { CREDIT_ORDER } from './creditOrder.ts';
import { VERSION_4 } from './diagnostics.ts';
import { ENVIRONMENT_EVENTS } from './environmentEvents.ts';
import { EPISODE_NOTES } from './episodeNotes.ts';
import { EVALUATIONS } from './evaluations.ts';
import { HEADLINES } from './headlines.ts';
import { VERSION_5 } from './labels.ts';
import { MEASUREMENTS } from './measurements.ts';
import { METHOD_STATES } from './methodStates.ts';
import { VERSION_3 } from './problemTests.ts';
import { PROBLEMS } from './problems.ts';
import { QUESTIONS } from './questions.ts';
import { RETURN_SCALES } from './returnScales.ts';
import { VERSION_2 } from './runAccounts.ts';
import { RUN_NOTES } from './runNotes.ts';
import { APPLICATION_ID, VERSION_1 } from './schema.ts';
import { SPENDING, SPENDING_MONEY } from './spending.ts';
import { STAGES } from './stages.ts';
import { requireOwnSchema } from './storeSchema.ts';
import { VERIFICATION_DIFFERENCES } from './verificationDifferences.ts';

/** Migration i updates a store from version i to version i + 1. */
export const MIGRATIONS: readonly string[] = [
  VERSION_1,
  VERSION_2,
  VERSION_3,
  VERSION_4,
  VERSION_5,
  BUCKET_MEASURES,
  PROBLEMS,
  EVALUATIONS,
  HEADLINES,
  QUESTIONS,
  METHOD_STATES,
  ENVIRONMENT_EVENTS,
  STAGES,
  VERIFICATION_DIFFERENCES,
  SPENDING,
  CREDIT_ORDER,
  RETURN_SCALES,
  CONTEXT_BASES,
  MEASUREMENTS,
  RUN_NOTES,
  EPISODE_NOTES,
  SPENDING_MONEY,
];

/** The kind of file at a path; `store` includes stores of older versions. */
export type FileKind = 'absent' | 'empty' | 'store';

const HEADER_BYTES = 100;
const MAGIC = 'SQLite format 3\0';
const USER_VERSION_OFFSET = 60;
const APPLICATION_ID_OFFSET = 68;

/**
 * Returns the kind of file at `path` without changing a byte. It reads the header of the file first,
 * and a write-ahead log of another process through a read-only connection.
 * @throws C3Error('store') if it is not an SQLite database, not a C3 store, or of a newer version
 */
export function inspectFile(path: string, latest: number = MIGRATIONS.length): FileKind {
  const header = readHeader(path);
  if (header === null) {
    return 'absent';
  }
  if (header.length === 0) {
    return 'empty';
  }
  if (header.length < HEADER_BYTES || header.toString('latin1', 0, MAGIC.length) !== MAGIC) {
    throw new C3Error('store', notAStoreMessage(path, 'it is not an SQLite database'), { action: CHOOSE_PLACE });
  }
  refuseForeignStore(path, header.readInt32BE(APPLICATION_ID_OFFSET), header.readInt32BE(USER_VERSION_OFFSET), latest);
  if (sizeOrZero(`${path}-wal`) > 0) {
    const { db } = connectForReading(path);
    try {
      refuseForeignStore(path, readPragmaNumber(db, 'application_id'), readStoreVersion(db), latest);
    } catch (error) {
      throw toStoreError(path, error);
    } finally {
      db.close();
    }
  }
  return 'store';
}

/**
 * Updates the store to the latest version in one transaction. After an error, the store is unchanged.
 * An empty file becomes a store.
 * @param derive fills the derived data of the new version in the same transaction
 */
export function migrateStore(
  db: Connection,
  path: string,
  migrations: readonly string[] = MIGRATIONS,
  derive: () => void = () => undefined,
): void {
  db.transaction(() => {
    const version = readStoreVersion(db);
    const isNew = version === 0 && db.prepare('SELECT 1 FROM sqlite_schema').get() === undefined;
    if (!isNew) {
      refuseForeignStore(path, readPragmaNumber(db, 'application_id'), version, migrations.length);
      requireOwnSchema(db, path, version, migrations);
      requireParentsFirst(db, path);
    }
    if (version === migrations.length) {
      return;
    }
    for (const sql of migrations.slice(version)) {
      db.exec(sql);
    }
    db.pragma(`application_id = ${APPLICATION_ID}`);
    db.pragma(`user_version = ${migrations.length}`);
    derive();
  }).immediate();
}

/**
 * Requires that every parent was stored before its child. Writing follows parents to the first
 * message, and a cycle would never end.
 */
function requireParentsFirst(db: Connection, path: string): void {
  const wrong = db.prepare<[], number>('SELECT id FROM decision WHERE parent >= id LIMIT 1').pluck().get();
  if (wrong !== undefined) {
    throw damagedStoreError(path, describeParentFault(wrong));
  }
}

export function readStoreVersion(db: Connection): number {
  return readPragmaNumber(db, 'user_version');
}

function refuseForeignStore(path: string, applicationId: number, version: number, latest: number): void {
  if (applicationId !== APPLICATION_ID) {
    throw new C3Error('store', notAStoreMessage(path, 'it is the SQLite database of another program'), {
      action: CHOOSE_PLACE,
    });
  }
  if (version > latest) {
    const versions = `store version ${version}, this one reads up to ${latest}`;
    const fault = `The store ${path} was written by a newer version of C3 (${versions}) and was left unchanged`;
    throw new C3Error('store', `${fault}: update C3, or ${ANOTHER_PLACE}.`, { action: CHOOSE_PLACE });
  }
}

function readPragmaNumber(db: Connection, pragma: string): number {
  return Number(db.pragma(pragma, { simple: true }));
}

function readHeader(path: string): Buffer | null {
  let file: number;
  try {
    if (!statSync(path).isFile()) {
      throw new C3Error('store', notAStoreMessage(path, 'it is not a file'), { action: CHOOSE_PLACE });
    }
    file = openSync(path, 'r');
  } catch (error) {
    if (storeErrorCode(error) === 'ENOENT') {
      return null;
    }
    throw toStoreError(path, error);
  }
  try {
    const header = Buffer.alloc(HEADER_BYTES);
    return header.subarray(0, readSync(file, header, 0, HEADER_BYTES, 0));
  } catch (error) {
    throw toStoreError(path, error);
  } finally {
    closeSync(file);
  }
}

function sizeOrZero(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

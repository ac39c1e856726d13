/** Write access to the store: one process at a time, under the writer lock. */

import { existsSync, lstatSync, mkdirSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { PRIVATE_FOLDER } from '../../files/newFile.ts';
import { resolveRealFile } from '../../files/realFile.ts';
import { C3Error } from '../../shared/errors.ts';
import type { HolderPurpose } from '../../shared/protocols/storeHolder.ts';
import { acquireLock, type StoreLock } from '../files/lock.ts';
import { mergeLog, isSealed, takeSeal, type SealKeeper } from '../files/seal.ts';
import { ANOTHER_PLACE, CHOOSE_PLACE, connect, loadSqlite, toStoreError, translateErrors } from '../files/sqlite.ts';
import type { Connection, Session } from '../files/sqlite.ts';
import { makeReaders } from '../read/reader.ts';
import { headlineKeeper, type HeadlineKeeper, type HeadlineRule } from '../tables/headlines.ts';
import { inspectFile, migrateStore, MIGRATIONS } from '../tables/migrations.ts';
import type { StoreWriter } from '../types.ts';
import { makeAppenders } from './append.ts';

export type * from '../types.ts';
export type { HeadlineRule } from '../tables/headlines.ts';

export interface WriterOptions {
  /** Largest file size in pages of 4096 bytes, beyond which the disk counts as full; default SQLite's. */
  readonly maxPages?: number;
  /** The purpose of this process in the lock file. */
  readonly purpose?: HolderPurpose;
  /** The rule that derives headline credits. Without it, they stay stale for a writer that has one. */
  readonly headlines?: HeadlineRule;
}

/**
 * Opens a store for writing. Creates a missing file and folder, and updates an older store. If it
 * throws, nothing has changed.
 * @throws StoreHeldError if another process writes
 * @throws C3Error('store') if the file is not a C3 store or is of a newer version, has a hard link or
 *   would be created through a link, if its place is read-only or full, or if Node is older than 22
 */
export function openStoreForWriting(path: string, options: WriterOptions = {}): StoreWriter {
  loadSqlite();
  const absolute = resolveRealFile(path);
  if (absolute !== absolute.trim()) {
    throw new C3Error('input', `The store's path "${absolute}" ends in a space, which SQLite drops: rename it.`);
  }
  const undo: (() => void)[] = [];
  try {
    refuseNewThroughLink(resolve(path), absolute);
    const firstFolder = makeFolders(dirname(absolute));
    if (firstFolder !== undefined) {
      undo.push(() => removeFolders(dirname(absolute), firstFolder));
    }
    const lock = acquireLock(absolute, options.purpose);
    undo.push(lock.release);
    if (inspectFile(absolute) === 'absent') {
      undo.push(() => removeStore(absolute));
    } else {
      refuseOtherNames(absolute);
    }
    const seal = takeSeal(absolute);
    undo.push(seal.undo);
    const db = connect(absolute, 'write');
    undo.push(() => db.close());
    return translateErrors(absolute, () => {
      const keeper = prepareForWriting(db, absolute, options);
      // Derives the headlines that a killed process left stale.
      keeper.refresh();
      return makeWriter({ db, path: absolute }, lock, keeper, seal);
    });
  } catch (error) {
    for (const step of undo.toReversed()) {
      step();
    }
    throw toStoreError(absolute, error);
  }
}

/**
 * Seals a store that its last writer closed without a seal. An existing seal stays.
 * @throws StoreHeldError while another process writes, which will seal it
 * @throws C3Error('store') if the file cannot be read
 */
export function sealStore(path: string): void {
  const absolute = resolveRealFile(path);
  if (!existsSync(absolute)) {
    return;
  }
  const lock = acquireLock(absolute);
  try {
    if (isSealed(absolute)) {
      return;
    }
    const { seal } = takeSeal(absolute);
    const db = connect(absolute, 'write');
    try {
      mergeLog(db);
    } finally {
      db.close();
    }
    seal();
  } catch (error) {
    throw toStoreError(absolute, error);
  } finally {
    lock.release();
  }
}

/** Updates the store and applies the settings of a writer's connection. */
export function prepareForWriting(
  db: Connection,
  path: string,
  { maxPages, headlines }: WriterOptions,
): HeadlineKeeper {
  if (maxPages !== undefined) {
    db.pragma(`max_page_count = ${maxPages}`);
  }
  // INSERT OR REPLACE then fires the triggers that refuse deletions too.
  db.pragma('recursive_triggers = ON');
  migrateStore(db, path, MIGRATIONS, () => headlineKeeper({ db, path }, headlines ?? null).refresh());
  const mode = db.pragma('journal_mode = WAL', { simple: true });
  if (mode !== 'wal') {
    const fault = `The store ${path} is on a file system without write-ahead logging (a network drive?)`;
    throw new C3Error('store', `${fault}: ${ANOTHER_PLACE}, on a local disk.`, { action: CHOOSE_PLACE });
  }
  db.pragma('synchronous = NORMAL');
  return headlineKeeper({ db, path }, headlines ?? null);
}

function makeWriter(
  session: Session,
  lock: StoreLock,
  keeper: HeadlineKeeper,
  { seal, keep }: SealKeeper,
): StoreWriter {
  const { db, path } = session;
  let open = true;
  const end = (sealed: boolean): void => {
    if (!open) {
      return;
    }
    open = false;
    try {
      mergeLog(db);
      translateErrors(path, () => db.close());
      if (sealed) {
        seal();
      } else {
        keep();
      }
    } finally {
      lock.release();
    }
  };
  const close = (): void => end(true);
  return {
    ...makeReaders(session, close),
    ...makeAppenders(session, keeper),
    describeHolder: lock.describe,
    closeUnsealed: () => end(false),
  };
}

/** Refuses to create a store through a link, because a workspace could link to any place of the user. */
function refuseNewThroughLink(asked: string, real: string): void {
  if (lstatSync(asked, { throwIfNoEntry: false })?.isSymbolicLink() !== true || existsSync(real)) {
    return;
  }
  throw new C3Error(
    'store',
    `${asked} is a link to ${real}, which does not exist; a new store is not created through a link: remove the link, or ${ANOTHER_PLACE}.`,
    { action: CHOOSE_PLACE },
  );
}

/**
 * Refuses a file with several names. SQLite keeps a log for each name, and two writers with different
 * names would destroy the file.
 */
function refuseOtherNames(path: string): void {
  const names = statSync(path).nlink;
  if (names <= 1) {
    return;
  }
  const fault = `The store ${path} has ${names} names (hard links) and can only be read: writing by one of them would damage it for the others`;
  throw new C3Error('store', `${fault}. Remove the other names, or copy it to a separate file.`);
}

function removeStore(path: string): void {
  for (const suffix of ['', '-journal', '-wal', '-shm', '.seal']) {
    rmSync(path + suffix, { force: true });
  }
}

/**
 * Creates a folder and its parents, one by one. Node's recursive option never ends if a file system
 * answers "no such file", as /proc does.
 * @returns the first created folder, or undefined if all existed
 */
function makeFolders(folder: string): string | undefined {
  if (existsSync(folder)) {
    return undefined;
  }
  const above = dirname(folder) === folder ? undefined : makeFolders(dirname(folder));
  mkdirSync(folder, PRIVATE_FOLDER);
  return above ?? folder;
}

/** Removes the folders from `last` up to `first` while they are empty. */
function removeFolders(last: string, first: string): void {
  try {
    for (let folder = last; folder.length >= first.length; folder = dirname(folder)) {
      rmdirSync(folder);
    }
  } catch {
    // A folder that another program has filled stays.
  }
}

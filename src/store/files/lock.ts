/**
 * The writer lock: a file beside the store, created exclusively and together with its content, which
 * names its owner.
 *
 * A lock whose owner is gone is taken over. To remove it, a process must first create a claim on that
 * very lock exclusively, and then check the lock again. So two processes never both believe that they
 * own the store. A claim whose owner is gone stays until the lock is removed; the next process creates
 * a claim on that claim. So a process may be killed at any moment without blocking the next.
 */

import { hash } from 'node:crypto';
import { linkSync, rmSync, unlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { readSmall, replaceFile, unfinishedName, writeNew } from '../../files/newFile.ts';
import { isAlive, readProcessStart } from '../../files/processes.ts';
import { resolveRealFile } from '../../files/realFile.ts';
import { C3Error } from '../../shared/errors.ts';
import {
  describeStoreHolder,
  parseHolder,
  type HolderPurpose,
  type StoreHolder,
} from '../../shared/protocols/storeHolder.ts';
import { storeErrorCode, toStoreError } from './sqlite.ts';

const ATTEMPTS = 3;
/** Longest lock file that is read. Real ones are much shorter. */
const LONGEST_LOCK = 1 << 16;

/** Another process writes the store. Waiting until it ends helps. */
export class StoreHeldError extends C3Error {
  /** Null while the lock changes its owner. */
  readonly holder: StoreHolder | null;

  constructor(message: string, holder: StoreHolder | null) {
    super('store', message, { code: 'storeHeld' });
    this.name = 'StoreHeldError';
    this.holder = holder;
  }
}

/** A writer lock that this process holds. */
export interface StoreLock {
  /** Releases the lock. A second call does nothing. */
  readonly release: () => void;
  /** Writes the current purpose of the holder into the lock file. */
  readonly describe: (purpose: HolderPurpose) => void;
}

/** Purpose of a process that gives none. */
const UNNAMED: HolderPurpose = { kind: 'command', what: 'c3' };

/** Returns the lock file of a store. It lies beside the file itself, even if the path is a link. */
export function lockPath(storePath: string): string {
  return `${resolveRealFile(storePath)}.lock`;
}

/**
 * Takes the writer lock of a store.
 * @param purpose of this process, for others while it holds the lock
 * @throws StoreHeldError naming the holder if another process has the lock
 * @throws C3Error('store') if the holder cannot be determined
 */
export function acquireLock(storePath: string, purpose: HolderPurpose = UNNAMED): StoreLock {
  const lock = lockPath(storePath);
  const owner = {
    pid: process.pid,
    host: hostname(),
    startedAt: new Date().toISOString(),
    processStart: readProcessStart(process.pid),
  };
  const textOf = (now: HolderPurpose): string => `${JSON.stringify({ ...owner, ...now })}\n`;
  let content = textOf(purpose);
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (createExclusively(storePath, lock, content)) {
      return {
        release: () => {
          if (readIfThere(lock) === content) {
            unlinkSync(lock);
          }
        },
        describe: (now) => {
          const next = textOf(now);
          if (next !== content && readIfThere(lock) === content) {
            replaceFile(lock, next);
            content = next;
          }
        },
      };
    }
    const found = readIfThere(lock);
    if (found !== null) {
      refuseLiveOwner(storePath, lock, found);
      removeAbandoned(storePath, lock, found, content);
    }
  }
  throw new StoreHeldError(
    `The store ${storePath} was taken by another process while its lock ${lock} was requested: try again.`,
    null,
  );
}

/**
 * Returns the holder of the writer lock of a store, or null if there is none, its process is gone, or
 * the lock cannot be read.
 */
export function lockHolder(storePath: string): StoreHolder | null {
  let content: string | null;
  try {
    content = readIfThere(lockPath(storePath));
  } catch {
    // The process that takes the lock reports the reason.
    return null;
  }
  if (content === null) {
    return null;
  }
  const owner = parseHolder(content);
  return owner !== null && (owner.host !== hostname() || isAlive(owner)) ? owner : null;
}

function refuseLiveOwner(storePath: string, lock: string, content: string): void {
  const owner = parseHolder(content);
  if (owner === null) {
    throw new C3Error(
      'store',
      `The lock ${lock} is unreadable, so who writes the store ${storePath} is unknown: if no C3 process uses it, delete that file.`,
    );
  }
  if (owner.host !== hostname()) {
    throw new StoreHeldError(
      `The store ${storePath} is held by ${describeStoreHolder(owner)} on the machine ${owner.host} since ${owner.startedAt}: stop it there, or delete ${lock} if it is gone.`,
      owner,
    );
  }
  if (isAlive(owner)) {
    throw new StoreHeldError(
      `The store ${storePath} is being written by ${describeStoreHolder(owner)} since ${owner.startedAt}: wait for it or stop it; reading works meanwhile.`,
      owner,
    );
  }
}

/**
 * Removes the lock if it is still the abandoned one.
 * @param content names this process
 */
function removeAbandoned(storePath: string, lock: string, abandoned: string, content: string): void {
  const claims: string[] = [];
  for (let dead = abandoned; ;) {
    const claim = `${lock}.takeover-${hash('sha256', dead).slice(0, 16)}`;
    claims.unshift(claim);
    if (createExclusively(storePath, claim, content)) {
      break;
    }
    const found = readIfThere(claim);
    if (found === null) {
      // The claim was released, so the lock is a new one.
      return;
    }
    const claimant = parseHolder(found);
    if (claimant === null || claimant.host !== hostname() || isAlive(claimant)) {
      throw new StoreHeldError(
        `Another process is taking over the store ${storePath}: try again, or delete ${claim} if no C3 process runs.`,
        claimant,
      );
    }
    dead = found;
  }
  try {
    if (readIfThere(lock) === abandoned) {
      unlinkSync(lock);
    }
  } finally {
    for (const claim of claims) {
      rmSync(claim, { force: true });
    }
  }
}

/** Creates the file with its content. Returns false if it exists. */
function createExclusively(storePath: string, path: string, content: string): boolean {
  const prepared = unfinishedName(path);
  try {
    writeNew(prepared, content);
    try {
      linkSync(prepared, path);
    } catch (error) {
      if (storeErrorCode(error) === 'EEXIST') {
        return false;
      }
      // On a file system without links, the file is empty for a moment.
      writeNew(path, content);
    }
    return true;
  } catch (error) {
    if (storeErrorCode(error) === 'EEXIST') {
      return false;
    }
    throw toStoreError(storePath, error);
  } finally {
    rmSync(prepared, { force: true });
  }
}

/**
 * Reads a lock file. Returns null if there is none, and an empty text, which names no owner, if it
 * cannot be a lock (a link, a pipe, or too long).
 */
function readIfThere(path: string): string | null {
  try {
    return readSmall(path, LONGEST_LOCK) ?? '';
  } catch (error) {
    if (storeErrorCode(error) === 'ENOENT') {
      return null;
    }
    throw toStoreError(path, error);
  }
}

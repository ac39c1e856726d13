/**
 * The writer lock: a file beside the store, created exclusively and with its content at once, that names its owner.
 *
 * A lock whose owner is gone is taken over. Only the process that could create the claim on that very lock exclusively
 * may remove it, and it looks again after creating it: so no two processes ever both believe that they own the store. A
 * claim whose owner is gone too is not removed before the lock is; it is claimed in its turn. So a process may be
 * killed at any moment without barring the next.
 */
import { hash } from 'node:crypto';
import { linkSync, rmSync, unlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { readSmall, replaceFile, unfinishedName, writeNew } from '../../files/newFile.ts';
import { isAlive, processStartOf } from '../../files/processes.ts';
import { realFile } from '../../files/realFile.ts';
import { C3Error } from '../../shared/errors.ts';
import { holderWords, parseHolder, type HolderPurpose, type StoreHolder } from '../../shared/protocols/storeHolder.ts';
import { codeOf, storeError } from './sqlite.ts';

const ATTEMPTS = 3;
/** No lock of ours is nearly as long. */
const LONGEST_LOCK = 1 << 16;

/** Another process writes the store: waiting for its end helps. */
export class StoreHeldError extends C3Error {
  /** Null where the lock changes hands just now. */
  readonly holder: StoreHolder | null;

  constructor(message: string, holder: StoreHolder | null) {
    super('store', message, { code: 'storeHeld' });
    this.name = 'StoreHeldError';
    this.holder = holder;
  }
}

/** The writer lock, held. */
export interface StoreLock {
  /** Gives the lock back; calling it twice does no harm. */
  readonly release: () => void;
  /** Says in the lock file what the holder does now. */
  readonly describe: (purpose: HolderPurpose) => void;
}

/** What a process is said to do that says nothing itself. */
const UNNAMED: HolderPurpose = { kind: 'command', what: 'c3' };

/** The lock file of a store: beside the file itself, whatever name or link led there. */
export function lockPathOf(storePath: string): string {
  return `${realFile(storePath)}.lock`;
}

/**
 * Takes the writer lock of a store.
 * @param purpose what others read of this process while it holds the lock
 * @throws StoreHeldError naming the holder while another process has the lock; C3Error('store') where that cannot be
 *   found out
 */
export function acquireLock(storePath: string, purpose: HolderPurpose = UNNAMED): StoreLock {
  const lock = lockPathOf(storePath);
  const owner = {
    pid: process.pid,
    host: hostname(),
    startedAt: new Date().toISOString(),
    processStart: processStartOf(process.pid),
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
    `The store ${storePath} changed hands while its lock ${lock} was asked for: try again.`,
    null,
  );
}

/** Who holds the writer lock of a store; null where nobody does, its holder is gone, or that cannot be read. */
export function lockHolder(storePath: string): StoreHolder | null {
  let content: string | null;
  try {
    content = readIfThere(lockPathOf(storePath));
  } catch {
    // Whoever takes the lock finds out why.
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
      `The store ${storePath} is held by ${holderWords(owner)} on the machine ${owner.host} since ${owner.startedAt}: stop it there, or delete ${lock} if it is gone.`,
      owner,
    );
  }
  if (isAlive(owner)) {
    throw new StoreHeldError(
      `The store ${storePath} is being written by ${holderWords(owner)} since ${owner.startedAt}: wait for it or stop it; reading works meanwhile.`,
      owner,
    );
  }
}

/** Removes the lock if it is still the abandoned one. @param content names this process */
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
      // Whoever held it is done: the lock is another one now.
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

/** Creates the file with its content, or says false when it is there already. */
function createExclusively(storePath: string, path: string, content: string): boolean {
  const prepared = unfinishedName(path);
  try {
    writeNew(prepared, content);
    try {
      linkSync(prepared, path);
    } catch (error) {
      if (codeOf(error) === 'EEXIST') {
        return false;
      }
      // A file system without links: the file is empty for a moment.
      writeNew(path, content);
    }
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') {
      return false;
    }
    throw storeError(storePath, error);
  } finally {
    rmSync(prepared, { force: true });
  }
}

/**
 * The content of a lock file; null where there is none. What cannot be one (a link, a pipe, far too long) is read as
 * empty: nobody knows its owner.
 */
function readIfThere(path: string): string | null {
  try {
    return readSmall(path, LONGEST_LOCK) ?? '';
  } catch (error) {
    if (codeOf(error) === 'ENOENT') {
      return null;
    }
    throw storeError(path, error);
  }
}

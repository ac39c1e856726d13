/**
 * The writer lock: a file beside the store, created exclusively and with its content at once, that names its owner.
 *
 * A lock whose owner is gone is taken over. Only the process that could create the claim on that very lock exclusively may remove
 * it, and it looks again after creating it: so no two processes ever both believe that they own the store. A claim whose owner is gone too
 * is not removed before the lock is; it is claimed in its turn. So a process may be killed at any moment without barring the next.
 */
import { hash } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, unlinkSync, writeSync } from 'node:fs';
import { hostname } from 'node:os';
import { C3Error } from '../shared/errors.ts';
import { codeOf, storeError } from './sqlite.ts';

interface Owner {
  readonly pid: number;
  readonly host: string;
  readonly startedAt: string;
  /** What the operating system says of when the process began, where it can be read; tells a reused pid from its predecessor. */
  readonly processStart: string | null;
}

const ATTEMPTS = 3;

/** The lock file of a store. */
export function lockPathOf(storePath: string): string {
  return `${storePath}.lock`;
}

/**
 * Takes the writer lock of a store.
 * @returns a function that gives the lock back; calling it twice does no harm
 * @throws C3Error('store') naming the owner's pid while another process holds it
 */
export function acquireLock(storePath: string): () => void {
  const lock = lockPathOf(storePath);
  const owner: Owner = { pid: process.pid, host: hostname(), startedAt: new Date().toISOString(), processStart: processStartOf(process.pid) };
  const content = `${JSON.stringify(owner)}\n`;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (createExclusively(storePath, lock, content)) {
      return () => {
        if (readIfThere(lock) === content) {
          unlinkSync(lock);
        }
      };
    }
    const found = readIfThere(lock);
    if (found !== null) {
      refuseLiveOwner(storePath, lock, found);
      removeAbandoned(storePath, lock, found, content);
    }
  }
  throw new C3Error('store', `The store ${storePath} changed hands while its lock ${lock} was asked for: try again.`);
}

function refuseLiveOwner(storePath: string, lock: string, content: string): void {
  const owner = parseOwner(content);
  if (owner === null) {
    throw new C3Error('store', `The lock ${lock} is unreadable, so who writes the store ${storePath} is unknown: if no C3 process uses it, delete that file.`);
  }
  if (owner.host !== hostname()) {
    throw new C3Error('store', `The store ${storePath} is held by process ${owner.pid} on the machine ${owner.host} since ${owner.startedAt}: stop it there, or delete ${lock} if it is gone.`);
  }
  if (isAlive(owner)) {
    throw new C3Error('store', `The store ${storePath} is being written by process ${owner.pid} since ${owner.startedAt}: wait for it or stop it; reading works meanwhile.`);
  }
}

/** Removes the lock if it is still the abandoned one. @param content names this process */
function removeAbandoned(storePath: string, lock: string, abandoned: string, content: string): void {
  const claims: string[] = [];
  for (let dead = abandoned; ; ) {
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
    const claimant = parseOwner(found);
    if (claimant === null || claimant.host !== hostname() || isAlive(claimant)) {
      throw new C3Error('store', `Another process is taking over the store ${storePath}: try again, or delete ${claim} if no C3 process runs.`);
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
  const prepared = `${path}.${process.pid}.new`;
  try {
    writeThrough(prepared, content, 'w');
    try {
      linkSync(prepared, path);
    } catch (error) {
      if (codeOf(error) === 'EEXIST') {
        return false;
      }
      // A file system without links: the file is empty for a moment.
      writeThrough(path, content, 'wx');
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

/** Writes a small file and forces it to the disk; a new one that cannot be written is removed. */
function writeThrough(path: string, content: string, flags: 'w' | 'wx'): void {
  const file = openSync(path, flags);
  try {
    writeSync(file, content);
    fsyncSync(file);
  } catch (error) {
    unlinkSync(path);
    throw error;
  } finally {
    closeSync(file);
  }
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') {
      return null;
    }
    throw storeError(path, error);
  }
}

function parseOwner(content: string): Owner | null {
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null || !('pid' in value) || !('host' in value)) {
    return null;
  }
  const { pid, host } = value;
  if (typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid <= 0 || typeof host !== 'string') {
    return null;
  }
  const startedAt = 'startedAt' in value && typeof value.startedAt === 'string' ? value.startedAt : 'an unknown time';
  const processStart = 'processStart' in value && typeof value.processStart === 'string' ? value.processStart : null;
  return { pid, host, startedAt, processStart };
}

function isAlive(owner: Owner): boolean {
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    // Any other refusal (EPERM) comes from a process that is there.
    if (codeOf(error) === 'ESRCH') {
      return false;
    }
  }
  const start = processStartOf(owner.pid);
  return start === null || (start !== ENDED && (owner.processStart === null || start === owner.processStart));
}

const ENDED = 'ended';

/** Start time of a process from Linux's /proc (ENDED for one that only waits to be reaped); null on other systems. */
function processStartOf(pid: number): string | null {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return null;
  }
  // The second field is the program's name in brackets and may hold blanks; the state is field 3, the start time field 22.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? ENDED : (fields[19] ?? null);
}

/** Reads the lock file of a store, for display only: the engine decides about write access. */

import { hostname } from 'node:os';
import { readSmall } from '../../files/newFile.ts';
import { isAlive } from '../../files/processes.ts';
import { resolveRealFile } from '../../files/realFile.ts';
import { parseHolder } from '../../shared/protocols/storeHolder.ts';

const LONGEST_LOCK = 1 << 16;

/**
 * Returns false if there is no lock, or if its owner has ended or is a zombie process. Returns true if
 * the state of the owner is unknown.
 */
export function isBeingWritten(storePath: string): boolean {
  let content: string | null;
  try {
    content = readSmall(`${resolveRealFile(storePath)}.lock`, LONGEST_LOCK);
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ENOENT');
  }
  const owner = content === null ? null : parseHolder(content);
  return owner === null || owner.host !== hostname() || isAlive(owner);
}

/**
 * Whether anybody writes the store, read from the lock file beside it. For showing only: who may write is decided by
 * the engine.
 */
import { hostname } from 'node:os';
import { readSmall } from '../../files/newFile.ts';
import { isAlive } from '../../files/processes.ts';
import { realFile } from '../../files/realFile.ts';
import { parseHolder } from '../../shared/protocols/storeHolder.ts';

const LONGEST_LOCK = 1 << 16;

/**
 * False where there is no lock or its owner is gone, also one that only waits to be reaped; where that cannot be found
 * out, true.
 */
export function isBeingWritten(storePath: string): boolean {
  let content: string | null;
  try {
    content = readSmall(`${realFile(storePath)}.lock`, LONGEST_LOCK);
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ENOENT');
  }
  const owner = content === null ? null : parseHolder(content);
  return owner === null || owner.host !== hostname() || isAlive(owner);
}

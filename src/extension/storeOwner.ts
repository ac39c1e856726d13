/** Whether anybody writes the store, read from the lock file beside it. For showing only: who may write is decided by the engine. */
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { parseHolder } from '../shared/storeHolder.ts';
import { isAlive } from '../store/processes.ts';

/** False where there is no lock or its owner is gone, also one that only waits to be reaped; where that cannot be found out, true. */
export function isBeingWritten(storePath: string): boolean {
  let content: string;
  try {
    content = readFileSync(`${storePath}.lock`, 'utf8');
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ENOENT');
  }
  const owner = parseHolder(content);
  return owner === null || owner.host !== hostname() || isAlive(owner);
}

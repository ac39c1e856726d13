/** Whether anybody writes the store, told from the lock file beside it. For showing only: who may write is decided by the engine. */
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { isRecord } from '../shared/guard.ts';

/** False where there is no lock or its owner is gone; where that cannot be told, true. */
export function isBeingWritten(storePath: string): boolean {
  let owner: unknown;
  try {
    owner = JSON.parse(readFileSync(`${storePath}.lock`, 'utf8'));
  } catch (error) {
    return codeOf(error) !== 'ENOENT';
  }
  if (!isRecord(owner) || owner['host'] !== hostname()) return true;
  const pid = owner['pid'];
  return typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid <= 0 || isAlive(pid);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Any other refusal comes from a process that is there.
    return codeOf(error) !== 'ESRCH';
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

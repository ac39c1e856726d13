/**
 * The seal of a store: the hash of the whole file after its last writer, in a small file beside it. It
 * detects a single changed bit in a number, which rows cannot. A writer removes the seal while it
 * works and writes a new one when it closes. A store without a seal was left by a killed process, or
 * was copied without its seal.
 */

import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync, readSync, rmSync, statSync } from 'node:fs';
import { z } from 'zod';
import { readSmall, replaceFile } from '../../files/newFile.ts';
import { storeErrorCode, type Connection } from './sqlite.ts';

const PIECE_BYTES = 1 << 20;
const LONGEST_SEAL = 1 << 12;
/** Time to wait for an active reader. After that, the store stays without a seal. */
const PATIENCE_MILLISECONDS = 200;

const sealSchema = z.object({
  version: z.literal(1),
  bytes: z.int().nonnegative(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/u),
  closedAt: z.string().max(40),
});

export type Seal = z.infer<typeof sealSchema>;

/** The result of a comparison with the seal. `different` means damage or changes by another program. */
export type SealState = { readonly state: 'whole' | 'different'; readonly seal: Seal } | { readonly state: 'none' };

export function sealPath(path: string): string {
  return `${path}.seal`;
}

/**
 * Compares a store with its seal. It reads the whole file if there is a seal.
 * @throws the error of the system if the file cannot be read
 */
export function checkSeal(path: string): SealState {
  const seal = readSeal(path);
  if (seal === null) {
    return { state: 'none' };
  }
  const same =
    fileSizeOrZero(`${path}-wal`) === 0 && fileSizeOrZero(path) === seal.bytes && hashFile(path) === seal.sha256;
  return { state: same ? 'whole' : 'different', seal };
}

/** Returns true if there is a seal, whether it fits or not. */
export function isSealed(path: string): boolean {
  return existsSync(sealPath(path));
}

/** The functions by which a writer restores or renews the seal. */
export interface SealKeeper {
  /** Writes a seal after the connection is closed. */
  readonly seal: () => void;
  /** Restores the old seal of an unwritten store after closing, without reading the file. */
  readonly keep: () => void;
  /** Restores the old seal if opening failed. */
  readonly undo: () => void;
}

/**
 * Removes the seal for a writer. A seal that does not fit stays, so that later writes do not hide the
 * damage.
 * @param path of a store, which need not exist yet
 */
export function takeSeal(path: string): SealKeeper {
  const found = checkSeal(path);
  if (found.state === 'different') {
    return { seal: () => undefined, keep: () => undefined, undo: () => undefined };
  }
  const before = fileStamp(path);
  if (found.state === 'whole') {
    rmSync(sealPath(path), { force: true });
  }
  const putBack = (): void => {
    if (found.state === 'whole') {
      replaceFile(sealPath(path), formatSeal(found.seal));
    }
  };
  // The rest of a log is not in the file.
  const isFolded = (): boolean => fileSizeOrZero(`${path}-wal`) === 0;
  const isUnchanged = (): boolean => found.state === 'whole' && fileStamp(path) === before;
  return {
    undo: putBack,
    keep: () => {
      if (isFolded() && isUnchanged()) {
        putBack();
      }
    },
    seal: () => {
      if (!isFolded()) {
        return;
      }
      try {
        if (isUnchanged()) {
          putBack();
        } else {
          replaceFile(
            sealPath(path),
            formatSeal({
              version: 1,
              bytes: fileSizeOrZero(path),
              sha256: hashFile(path),
              closedAt: new Date().toISOString(),
            }),
          );
        }
      } catch {
        // The written data is complete without a seal.
      }
    },
  };
}

/**
 * Merges the log into the file, so that it can be sealed. An active reader or a full disk prevents
 * that: nothing is lost, but no seal is written.
 */
export function mergeLog(db: Connection): void {
  try {
    db.pragma(`busy_timeout = ${PATIENCE_MILLISECONDS}`);
    db.pragma('wal_checkpoint(TRUNCATE)');
  } catch {
    // The log stays beside the file.
  }
}

function readSeal(path: string): Seal | null {
  try {
    return sealSchema.parse(JSON.parse(readSmall(sealPath(path), LONGEST_SEAL) ?? ''));
  } catch (error) {
    // An invalid seal counts as none.
    if (storeErrorCode(error) === undefined || storeErrorCode(error) === 'ENOENT') {
      return null;
    }
    throw error;
  }
}

const formatSeal = (seal: Seal): string => `${JSON.stringify(seal)}\n`;

function fileSizeOrZero(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Returns a text that changes with every change to the file. */
function fileStamp(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined
    ? ''
    : `${String(found.ino)} ${String(found.size)} ${String(found.mtimeNs)} ${String(found.ctimeNs)}`;
}

function hashFile(path: string): string {
  const hash = createHash('sha256');
  const piece = Buffer.alloc(PIECE_BYTES);
  const file = openSync(path, 'r');
  try {
    for (let read = readSync(file, piece); read > 0; read = readSync(file, piece)) {
      hash.update(piece.subarray(0, read));
    }
    return hash.digest('hex');
  } finally {
    closeSync(file);
  }
}

/**
 * The seal of a store: the hash of the whole file as its last writer left it, in a small file beside it. A row says
 * nothing of a single bit that changed in a number; the seal does. A writer takes it off while it works and puts a new
 * one on when it closes, so that a store without one was left by a process that was killed, or was copied without it.
 */
import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync, readSync, rmSync, statSync } from 'node:fs';
import { z } from 'zod';
import { readSmall, replaceFile } from '../../files/newFile.ts';
import { codeOf, type Connection } from './sqlite.ts';

const PIECE_BYTES = 1 << 20;
const LONGEST_SEAL = 1 << 12;
/** A reader in the middle of a question is waited for so long; then the store stays without a seal. */
const PATIENCE_MILLISECONDS = 200;

const sealSchema = z.object({
  version: z.literal(1),
  bytes: z.int().nonnegative(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/u),
  closedAt: z.string().max(40),
});

export type Seal = z.infer<typeof sealSchema>;

/** What a seal says of its store. `different` is damage, or another program's work. */
export type SealState = { readonly state: 'whole' | 'different'; readonly seal: Seal } | { readonly state: 'none' };

export function sealPathOf(path: string): string {
  return `${path}.seal`;
}

/**
 * Compares a store with its seal; reads the whole file where there is one.
 * @throws what the system says where the file cannot be read
 */
export function checkSeal(path: string): SealState {
  const seal = readSeal(path);
  if (seal === null) {
    return { state: 'none' };
  }
  const same = sizeOf(`${path}-wal`) === 0 && sizeOf(path) === seal.bytes && hashOfFile(path) === seal.sha256;
  return { state: same ? 'whole' : 'different', seal };
}

/** Whether there is a seal, fitting or not. */
export function isSealed(path: string): boolean {
  return existsSync(sealPathOf(path));
}

/** A writer's care for the seal. */
export interface SealKeeper {
  /** Puts a seal on, when the connection is closed. */
  readonly seal: () => void;
  /** Puts the old one back where nothing was written, when the connection is closed; does not look into the file. */
  readonly keep: () => void;
  /** Puts the old one back where nothing came of the opening. */
  readonly undo: () => void;
}

/**
 * Takes the seal off for a writer. One that does not fit stays, so that nothing that is written later hides what
 * happened.
 * @param path of a store that may not be there yet
 */
export function takeSeal(path: string): SealKeeper {
  const found = checkSeal(path);
  if (found.state === 'different') {
    return { seal: () => undefined, keep: () => undefined, undo: () => undefined };
  }
  const before = stampOf(path);
  if (found.state === 'whole') {
    rmSync(sealPathOf(path), { force: true });
  }
  const putBack = (): void => {
    if (found.state === 'whole') {
      replaceFile(sealPathOf(path), textOf(found.seal));
    }
  };
  // What is left of a log is not in the file.
  const isFolded = (): boolean => sizeOf(`${path}-wal`) === 0;
  const isUnchanged = (): boolean => found.state === 'whole' && stampOf(path) === before;
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
            sealPathOf(path),
            textOf({ version: 1, bytes: sizeOf(path), sha256: hashOfFile(path), closedAt: new Date().toISOString() }),
          );
        }
      } catch {
        // What was written is whole without it.
      }
    },
  };
}

/**
 * Folds the log into the file, so that it can be sealed. A reader in the middle of a question, or a full disk, keeps it
 * from that: nothing is lost, and no seal is put on.
 */
export function foldLog(db: Connection): void {
  try {
    db.pragma(`busy_timeout = ${PATIENCE_MILLISECONDS}`);
    db.pragma('wal_checkpoint(TRUNCATE)');
  } catch {
    // The log stays beside the file.
  }
}

function readSeal(path: string): Seal | null {
  try {
    return sealSchema.parse(JSON.parse(readSmall(sealPathOf(path), LONGEST_SEAL) ?? ''));
  } catch (error) {
    // What is no seal says nothing.
    if (codeOf(error) === undefined || codeOf(error) === 'ENOENT') {
      return null;
    }
    throw error;
  }
}

const textOf = (seal: Seal): string => `${JSON.stringify(seal)}\n`;

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Another one after every change to the file. */
function stampOf(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined
    ? ''
    : `${String(found.ino)} ${String(found.size)} ${String(found.mtimeNs)} ${String(found.ctimeNs)}`;
}

function hashOfFile(path: string): string {
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

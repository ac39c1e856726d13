/** Writes new files completely or not at all, even if the process is killed. */

import { closeSync, existsSync, linkSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { C3Error, toErrorMessage } from '../shared/errors.ts';
import { removeUnfinished, unfinishedName } from './newFile.ts';

/**
 * A file that does not exist yet. Its pieces are written under a temporary name beside it, and `finish`
 * gives it its own. Without `finish`, nothing is left when it is disposed.
 */
export class OutFile implements Disposable {
  private readonly path: string;
  private readonly unfinished: string;
  private file: number | null;

  /** @throws C3Error('input') if the file exists or cannot be created */
  constructor(path: string) {
    if (existsSync(path)) {
      throw makeCreationError(path, null);
    }
    removeUnfinished(dirname(path), basename(path));
    this.path = path;
    this.unfinished = unfinishedName(path);
    this.file = openNew(this.unfinished, path);
  }

  /** @throws C3Error('store') if the piece cannot be written completely, as on a full disk */
  write(piece: string | Uint8Array): void {
    const { file } = this;
    if (file === null) {
      throw new Error(`${this.path} is complete.`);
    }
    // Writing by descriptor continues after a partial write.
    wrapWriteErrors(this.path, () => writeFileSync(file, piece));
  }

  /** Gives the complete file its name. @throws C3Error('input') if that was taken meanwhile */
  finish(): void {
    this.close();
    try {
      claim(this.unfinished, this.path);
    } catch (error) {
      throw makeCreationError(this.path, error);
    }
  }

  [Symbol.dispose](): void {
    this.close();
    rmSync(this.unfinished, { force: true });
  }

  private close(): void {
    const { file } = this;
    this.file = null;
    if (file !== null) {
      closeSync(file);
    }
  }
}

/**
 * Writes a file that does not exist yet.
 * @param pieces its text, each created after the previous ones are written
 * @throws C3Error as OutFile; any error of `pieces`. No file is left then.
 */
export function writeOut(path: string, pieces: Iterable<string>): void {
  using file = new OutFile(path);
  for (const piece of pieces) {
    file.write(piece);
  }
  file.finish();
}

/**
 * Makes a file under a temporary name and renames it when it is complete, but never over an
 * existing file. Leftovers of killed processes are removed first.
 * @param make creates the file under the given name
 * @param refused returns the error if the name is not available
 * @param beside endings of files that may lie beside it and are renamed with it
 * @throws the errors of `make`; no file is left then
 */
export function makeOut<Made>(
  path: string,
  make: (unfinished: string) => Made,
  refused: (error: unknown) => unknown,
  beside: readonly string[] = [],
): Made {
  removeUnfinished(dirname(path), basename(path));
  const unfinished = unfinishedName(path);
  try {
    const made = make(unfinished);
    try {
      claim(unfinished, path);
    } catch (error) {
      throw refused(error);
    }
    for (const end of beside.filter((one) => existsSync(unfinished + one))) {
      renameSync(unfinished + end, path + end);
    }
    return made;
  } finally {
    for (const end of ['', ...beside]) {
      rmSync(unfinished + end, { force: true });
    }
  }
}

/** Gives a file a name that is free. */
function claim(unfinished: string, path: string): void {
  try {
    linkSync(unfinished, path);
  } catch (error) {
    if (readErrorCode(error) === 'EEXIST') {
      throw error;
    }
    // On a file system without links, an empty file reserves the name until the complete file
    // replaces it.
    closeSync(openSync(path, 'wx'));
    renameSync(unfinished, path);
  }
}

function openNew(unfinished: string, path: string): number {
  try {
    return openSync(unfinished, 'wx');
  } catch (error) {
    throw makeCreationError(path, error);
  }
}

/** @param error null if the file exists already */
function makeCreationError(path: string, error: unknown): C3Error {
  return new C3Error(
    'input',
    error === null || readErrorCode(error) === 'EEXIST'
      ? `${path} already exists and was left unchanged; choose another --out.`
      : `${path} cannot be written: ${toErrorMessage(error)}; choose another --out.`,
    { cause: error },
  );
}

const readErrorCode = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined);

function wrapWriteErrors(path: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    throw new C3Error(
      'store',
      `${path} cannot be written completely: ${toErrorMessage(error)}; the incomplete file was removed; free space or choose another --out.`,
      { cause: error },
    );
  }
}

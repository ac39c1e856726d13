/** Files that a command was asked to write: new, and whole or not there, whenever the process ends. */
import { closeSync, existsSync, linkSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { C3Error, messageOf } from '../shared/errors.ts';
import { removeUnfinished, unfinishedName } from './newFile.ts';

/**
 * Writes a file that is not there yet.
 * @param pieces its text, each made when those before are written
 * @throws C3Error('input') where the file is there already or cannot be made; C3Error('store') where it cannot be
 *   written to its end, as on a full disk; what `pieces` throws. Nothing is left then.
 */
export function writeOut(path: string, pieces: Iterable<string>): void {
  if (existsSync(path)) {
    throw notMade(path, null);
  }
  makeOut(
    path,
    (unfinished) => {
      const file = openNew(unfinished, path);
      try {
        // By its number: this continues where the disk took a part only.
        for (const piece of pieces) {
          asWriting(path, () => writeFileSync(file, piece));
        }
      } finally {
        closeSync(file);
      }
    },
    (error) => notMade(path, error),
  );
}

/**
 * Makes a file beside its place and names it when it is whole; never over what is there. What a killed process left of
 * it goes first.
 * @param make makes it under the name that it is given
 * @param refused the error for a name that cannot be had
 * @param beside ends of the names of files that may lie beside it and go with it
 * @throws what `make` throws; nothing is left then
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

/** Gives a file a name that nothing has. */
function claim(unfinished: string, path: string): void {
  try {
    linkSync(unfinished, path);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') {
      throw error;
    }
    // A file system without links: an empty file keeps the name until the whole one takes its place.
    closeSync(openSync(path, 'wx'));
    renameSync(unfinished, path);
  }
}

function openNew(unfinished: string, path: string): number {
  try {
    return openSync(unfinished, 'wx');
  } catch (error) {
    throw notMade(path, error);
  }
}

/** @param error null where the file is there already */
function notMade(path: string, error: unknown): C3Error {
  return new C3Error(
    'input',
    error === null || codeOf(error) === 'EEXIST'
      ? `${path} already exists and was left unchanged; choose another --out.`
      : `${path} cannot be written: ${messageOf(error)}; choose another --out.`,
    { cause: error },
  );
}

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined);

function asWriting(path: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    throw new C3Error(
      'store',
      `${path} cannot be written completely: ${messageOf(error)}; the incomplete file was removed; free space or choose another --out.`,
      { cause: error },
    );
  }
}

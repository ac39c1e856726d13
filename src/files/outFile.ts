/** Files that a command was asked to write: new, and whole or not there. */
import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { C3Error, messageOf } from '../shared/errors.ts';

/**
 * Writes a file that is not there yet.
 * @param pieces its text, each made when those before are written
 * @throws C3Error('input') where the file is there already or cannot be made; C3Error('store') where it cannot be
 *   written to its end, as on a full disk; what `pieces` throws. Nothing is left then.
 */
export function writeOut(path: string, pieces: Iterable<string>): void {
  const file = openNew(path);
  try {
    // By its number: this continues where the disk took a part only.
    for (const piece of pieces) {
      asWriting(path, () => {
        writeFileSync(file, piece);
      });
    }
  } catch (error) {
    closeSync(file);
    // Half a file is worse than none.
    rmSync(path, { force: true });
    throw error;
  }
  closeSync(file);
}

function openNew(path: string): number {
  try {
    return openSync(path, 'wx');
  } catch (error) {
    const exists = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    throw new C3Error(
      'input',
      exists
        ? `${path} already exists and was left unchanged; choose another --out.`
        : `${path} cannot be written: ${messageOf(error)}; choose another --out.`,
      { cause: error },
    );
  }
}

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

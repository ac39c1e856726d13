/** Reads regular files only, because anybody may have put another kind of file at a path. */

import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { C3Error, toErrorMessage, type ErrorKind } from '../shared/errors.ts';
import { formatBytes } from '../shared/text/sizes.ts';

/**
 * Opens without waiting, because a FIFO without a writer would block its reader forever. Windows
 * has no such flag, and no such files in folders.
 */
const flags: Readonly<Partial<Record<string, number>>> = constants;
const WITHOUT_WAITING = constants.O_RDONLY | (flags['O_NONBLOCK'] ?? 0);

/**
 * Opens a regular file. The caller closes it.
 * @param advice for the user if it cannot be read
 * @param kind of the error
 * @throws C3Error that names the file, if it cannot be opened, or is a folder, a FIFO, a device or
 *   a socket
 */
export async function openRegular(
  path: string,
  advice: string,
  kind: ErrorKind = 'input',
): Promise<{ readonly file: FileHandle; readonly size: number }> {
  let file: FileHandle;
  try {
    file = await open(path, WITHOUT_WAITING);
  } catch (error) {
    throw new C3Error(kind, `Cannot read ${path}: ${toErrorMessage(error)}; ${advice}.`, { cause: error });
  }
  try {
    const stat = await file.stat();
    if (!stat.isFile()) {
      throw new C3Error(
        kind,
        `Cannot read ${path}: ${stat.isDirectory() ? 'EISDIR, a folder, and ' : ''}it is not a regular file; ${advice}.`,
      );
    }
    return { file, size: stat.size };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * Reads a regular file as a whole.
 * @param most bytes that it may have
 * @param otherwise advice for the user if it has more
 * @throws C3Error as `openRegular` does, or if the file is longer
 */
export async function readRegular(
  path: string,
  most: number,
  advice: string,
  kind: ErrorKind = 'input',
  otherwise = advice,
): Promise<Buffer<ArrayBuffer>> {
  const { file, size } = await openRegular(path, advice, kind);
  try {
    if (size > most) {
      throw new C3Error(
        kind,
        `${path} has ${formatBytes(size)}, more than the ${formatBytes(most)} that such a file may have; ${otherwise}.`,
      );
    }
    const bytes = Buffer.alloc(size);
    let done = 0;
    for (let read = 1; read > 0 && done < bytes.length; done += read) {
      read = (await file.read(bytes, done, bytes.length - done, done)).bytesRead;
    }
    return bytes.subarray(0, done);
  } catch (error) {
    if (error instanceof C3Error) {
      throw error;
    }
    throw new C3Error(kind, `Cannot read ${path}: ${toErrorMessage(error)}; ${advice}.`, { cause: error });
  } finally {
    await file.close();
  }
}

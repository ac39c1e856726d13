/** Writes a file so that it exists whole or not at all, even if the process or the machine stops. */

import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { PRIVATE_FILE, unfinishedName } from '../../files/newFile.ts';
import { C3Error, toErrorMessage } from '../../shared/errors.ts';

/**
 * Writes a file that only the user can read: into a temporary file in the same folder, which is forced
 * to the disk and then renamed. It does not write through a link.
 * @param content all of it, or its pieces in order; a piece is requested after those before it are
 *   written
 * @throws C3Error('store') if it cannot be written; the temporary file is removed and an existing file
 *   stays unchanged
 */
export async function writeFileAtomically(path: string, content: Uint8Array | Iterable<Uint8Array>): Promise<void> {
  const temporary = unfinishedName(path);
  try {
    const file = await open(temporary, 'wx', PRIVATE_FILE);
    try {
      await file.chmod(PRIVATE_FILE);
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw new C3Error('store', `Cannot write ${path}: ${toErrorMessage(error)}; free space or choose another folder.`, {
      cause: error,
    });
  }
  await syncFolder(dirname(path));
}

/** Makes the new name durable if the system can. Windows cannot and does not need it. */
async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch {
    // The file is complete in either case.
  }
}

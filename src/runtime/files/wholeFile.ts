/** Files that are there whole or not at all, whenever the process or the machine stops. */
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { PRIVATE_FILE, unfinishedName } from '../../files/newFile.ts';
import { C3Error, messageOf } from '../../shared/errors.ts';

/**
 * Writes a file for the user alone beside its place, forces it to the disk and moves it there. Nothing is written
 * through a link.
 * @param content all of it, or its pieces in order, each made when those before are written
 * @throws C3Error('store') where it cannot be written; nothing is left behind and what was there stays
 */
export async function writeWhole(path: string, content: Uint8Array | Iterable<Uint8Array>): Promise<void> {
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
    throw new C3Error('store', `Cannot write ${path}: ${messageOf(error)}; free space or choose another folder.`, {
      cause: error,
    });
  }
  await syncFolder(dirname(path));
}

/** Makes the new name durable where the system can; Windows cannot and needs not. */
async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch {
    // The file itself is whole either way.
  }
}

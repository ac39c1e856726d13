/** Files that are there whole or not at all, whenever the process or the machine stops. */
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { C3Error, messageOf } from '../shared/errors.ts';

/** How the name of an unfinished file ends, with the process that writes it. */
const UNFINISHED = /\.(\d+)\.tmp$/;

/**
 * Writes a file beside its place, forces it to the disk and moves it there.
 * @param content all of it, or its pieces in order, each made when those before are written
 * @throws C3Error('store') where it cannot be written; nothing is left behind and what stood there stays
 */
export async function writeWhole(path: string, content: Uint8Array | Iterable<Uint8Array>): Promise<void> {
  const temporary = `${path}.${String(process.pid)}.tmp`;
  try {
    const file = await open(temporary, 'w');
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw new C3Error('store', `Cannot write ${path}: ${messageOf(error)}; free space or choose another folder.`, { cause: error });
  }
  await syncFolder(dirname(path));
}

/** The process that was writing a file of this name; null for any other file. */
export function writerOfUnfinished(name: string): number | null {
  const pid = UNFINISHED.exec(name)?.[1];
  return pid === undefined ? null : Number(pid);
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

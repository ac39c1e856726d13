/** Files of a model folder, which anybody may have made: regular files of bounded length and nothing else is read. */
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { C3Error, messageOf } from '../shared/errors.ts';
import { bytesWords } from '../shared/sizes.ts';

/** A FIFO that nobody writes to would keep its reader for ever. Windows has no such flag, and no such files in folders. */
const WITHOUT_WAITING = constants.O_RDONLY | constants.O_NONBLOCK;

/**
 * Opens a regular file of a model folder; whoever asks closes it.
 * @param advice what to do where it cannot be read
 * @throws C3Error('model') naming the file, where it cannot be opened, or is a folder, a FIFO, a device or a socket
 */
export async function openModelFile(path: string, advice: string): Promise<{ readonly file: FileHandle; readonly size: number }> {
  let file: FileHandle;
  try {
    file = await open(path, WITHOUT_WAITING);
  } catch (error) {
    throw new C3Error('model', `Cannot read ${path}: ${messageOf(error)}; ${advice}.`, { cause: error });
  }
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw new C3Error('model', `Cannot read ${path}: it is no regular file; ${advice}.`);
    return { file, size: stat.size };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * Reads a file of a model folder as a whole.
 * @param most bytes that such a file may have
 * @throws C3Error('model') as above, or where it is longer
 */
export async function readModelFile(path: string, most: number, advice: string): Promise<Buffer<ArrayBuffer>> {
  const { file, size } = await openModelFile(path, advice);
  try {
    const bytes = Buffer.alloc(checkedSize(path, size, most));
    let done = 0;
    for (let read = 1; read > 0 && done < bytes.length; done += read) read = (await file.read(bytes, done, bytes.length - done, done)).bytesRead;
    return bytes.subarray(0, done);
  } catch (error) {
    if (error instanceof C3Error) throw error;
    throw new C3Error('model', `Cannot read ${path}: ${messageOf(error)}; ${advice}.`, { cause: error });
  } finally {
    await file.close();
  }
}

function checkedSize(path: string, size: number, most: number): number {
  if (size <= most) return size;
  throw new C3Error('model', `${path} has ${bytesWords(size)}, more than the ${bytesWords(most)} that such a file may have; copy it again from its source.`);
}

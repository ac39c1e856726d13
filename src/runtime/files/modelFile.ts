/** Files of a model folder, which anybody may have made: regular files of bounded length and nothing else is read. */
import type { FileHandle } from 'node:fs/promises';
import { openRegular, readRegular } from '../../files/regularFile.ts';

/**
 * Opens a regular file of a model folder; whoever asks closes it.
 * @param advice what to do where it cannot be read
 * @throws C3Error('model') naming the file, where it cannot be opened, or is a folder, a FIFO, a device or a socket
 */
export const openModelFile = (
  path: string,
  advice: string,
): Promise<{ readonly file: FileHandle; readonly size: number }> => openRegular(path, advice, 'model');

/**
 * Reads a file of a model folder as a whole.
 * @param most bytes that such a file may have
 * @throws C3Error('model') as above, or where it is longer
 */
export const readModelFile = (path: string, most: number, advice: string): Promise<Buffer<ArrayBuffer>> =>
  readRegular(path, most, advice, 'model', 'copy it again from its source');

/**
 * Opens and reads files of a model folder. The folder may come from anyone, so only regular files of
 * bounded length are read.
 */

import type { FileHandle } from 'node:fs/promises';
import { openRegular, readRegular } from '../../files/regularFile.ts';

/**
 * Opens a regular file of a model folder. The caller closes it.
 * @param advice what the user can do if the file cannot be read
 * @throws C3Error('model') naming the file, if it cannot be opened or is a folder, a FIFO, a device or
 *   a socket
 */
export const openModelFile = (
  path: string,
  advice: string,
): Promise<{ readonly file: FileHandle; readonly size: number }> => openRegular(path, advice, 'model');

/**
 * Reads a whole file of a model folder.
 * @param most largest number of bytes
 * @throws C3Error('model') as above, or if the file is longer
 */
export const readModelFile = (path: string, most: number, advice: string): Promise<Buffer<ArrayBuffer>> =>
  readRegular(path, most, advice, 'model', 'copy it again from its source');

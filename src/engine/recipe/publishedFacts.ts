/** What the disk says of the names in a file of the published scripts. */
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { PublishedFacts } from '../../training/config/published/publishedRow.ts';

const CHUNK_BYTES = 1 << 20;
const LINE_BREAK = 0x0a;
const BLANKS: readonly number[] = [0x20, 0x09, 0x0d];

/** @param folder that names are relative to */
export const factsIn = (folder: string): PublishedFacts => ({
  isFolder: (path) => statOf(resolve(folder, path))?.isDirectory() === true,
  problemsIn: (path) => {
    const place = resolve(folder, path);
    return statOf(place)?.isFile() === true ? linesOf(place) : null;
  },
});

const statOf = (path: string): ReturnType<typeof statSync> => statSync(path, { throwIfNoEntry: false });

/** Lines that are not blank, one problem each. */
function linesOf(path: string): number {
  const file = openSync(path, 'r');
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    let [lines, filled] = [0, false];
    for (let read = readSync(file, chunk); read > 0; read = readSync(file, chunk)) {
      for (const byte of chunk.subarray(0, read)) {
        if (byte === LINE_BREAK) {
          lines += filled ? 1 : 0;
          filled = false;
        } else {
          filled ||= !BLANKS.includes(byte);
        }
      }
    }
    return lines + (filled ? 1 : 0);
  } finally {
    closeSync(file);
  }
}

/** Finds files that programs left in a folder for temporary files. */

import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Matches the folder of a user with the temporary folders, which remains after they are removed.
 */
const PARENT = /^c3-folders-[^/\\]*$/u;

/** Returns the names of files and folders, with temporary folders relative to `folder`. */
export function leftBehind(folder: string): string[] {
  return readdirSync(folder).flatMap((name) =>
    PARENT.test(name) ? readdirSync(join(folder, name)).map((inner) => join(name, inner)) : [name],
  );
}

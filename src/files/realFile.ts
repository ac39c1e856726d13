/** Finds the real path of a file, so that data of a file does not depend on the path in use. */

import { readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** The number of links that Linux follows. */
const MOST_LINKS = 40;

/**
 * Returns the real path of a file: without links, and in the letters of the file system. Neither
 * the file nor its folder need exist yet. For a broken link it is the path at which the file would
 * be.
 * @param path absolute, or relative to the current folder
 */
export function resolveRealFile(path: string): string {
  let at = resolve(path);
  for (let link = 0; link < MOST_LINKS; link++) {
    const folder = realFolder(dirname(at));
    const here = join(folder, basename(at));
    const found = realOrNull(here);
    if (found !== null) {
      return found;
    }
    const target = readLinkTarget(here);
    if (target === null) {
      return here;
    }
    at = resolve(folder, target);
  }
  return at;
}

function realFolder(folder: string): string {
  const above = dirname(folder);
  return realOrNull(folder) ?? (above === folder ? folder : join(realFolder(above), basename(folder)));
}

/** Returns the target of a link, or null if the path is no link or cannot be read. */
function readLinkTarget(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

function realOrNull(path: string): string | null {
  try {
    return realpathSync.native(path);
  } catch {
    return null;
  }
}

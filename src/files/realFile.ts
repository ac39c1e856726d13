/**
 * What a file is, whatever name leads to it: what belongs to one file must not depend on the name by which it was asked
 * for.
 */
import { readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** As many links as Linux follows. */
const MOST_LINKS = 40;

/**
 * The path of the file behind a path: without links, and in the letters of the file system. Neither the file nor its
 * folder need be there yet; a link that leads nowhere gives the path at which the file would be.
 * @param path absolute, or from the current folder
 */
export function realFile(path: string): string {
  let at = resolve(path);
  for (let link = 0; link < MOST_LINKS; link++) {
    const folder = realFolder(dirname(at));
    const here = join(folder, basename(at));
    const found = realOrNull(here);
    if (found !== null) {
      return found;
    }
    const target = targetOf(here);
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

/** Where a link leads; null for what is none, or cannot be looked at. */
function targetOf(path: string): string | null {
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

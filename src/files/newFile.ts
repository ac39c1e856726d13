/**
 * Creates and reads small files in places where others may put files. Names are unguessable, a file
 * is new or an error is thrown, links are never followed, and only the user has access, regardless
 * of the umask.
 */

import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { isAlive } from './processes.ts';

/** Modes that give access to the user alone. */
export const PRIVATE_FILE = 0o600;
export const PRIVATE_FOLDER = 0o700;

const RANDOM_BYTES = 8;
/** The end of an unfinished file's name, with the writer's process id; SQLite adds files with endings. */
const UNFINISHED = /\.(\d+)(?:\.[0-9a-f]{16})?\.tmp(?:-wal|-shm|-journal|\.seal)?$/;

/** Returns an unguessable part of a name. */
export function makeRandomNamePart(): string {
  return randomBytes(RANDOM_BYTES).toString('hex');
}

/** Returns a name beside `path` for the file that will replace it. */
export function unfinishedName(path: string): string {
  return `${path}.${process.pid}.${makeRandomNamePart()}.tmp`;
}

/**
 * Removes unfinished files of killed processes.
 * @param file its name, to remove only unfinished versions of that file
 */
export function removeUnfinished(folder: string, file = ''): void {
  for (const name of namesIn(folder)) {
    const writer = name.startsWith(file === '' ? '' : `${file}.`) ? UNFINISHED.exec(name)?.[1] : undefined;
    if (writer !== undefined && !isAlive({ pid: Number(writer), processStart: null })) {
      rmSync(join(folder, name), { force: true });
    }
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/**
 * Creates a file for the user alone.
 * @throws the system's error, EEXIST if anything exists there, even a link
 */
export function createNew(path: string): number {
  const file = openSync(path, 'wx', PRIVATE_FILE);
  try {
    fchmodSync(file, PRIVATE_FILE);
    return file;
  } catch (error) {
    closeSync(file);
    rmSync(path, { force: true });
    throw error;
  }
}

/**
 * Creates a file with its content and forces it to the disk. A file that cannot be written is
 * removed.
 * @throws the errors of `createNew`
 */
export function writeNew(path: string, content: string): void {
  const file = createNew(path);
  try {
    // A single write may be partial if the disk is full.
    writeFileSync(file, content);
    fsyncSync(file);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
}

/**
 * Replaces a file atomically. A link is replaced, not followed.
 * @throws the system's error
 */
export function replaceFile(path: string, content: string): void {
  const prepared = unfinishedName(path);
  writeNew(prepared, content);
  try {
    renameSync(prepared, path);
  } catch (error) {
    rmSync(prepared, { force: true });
    throw error;
  }
}

/**
 * Returns the text of a small file, or null for a link, a folder, a pipe, a device, or more than
 * `most` bytes.
 * @throws the system's error, ENOENT if nothing exists there
 */
export function readSmall(path: string, most: number): string | null {
  let file: number;
  try {
    // Windows has neither flag. Without the second, opening a pipe would wait for its other end.
    file = openSync(path, constants.O_RDONLY | readOpenFlag('O_NOFOLLOW') | readOpenFlag('O_NONBLOCK'));
  } catch (error) {
    if (
      error instanceof Error &&
      'code' in error &&
      (error.code === 'ELOOP' || error.code === 'EMLINK' || error.code === 'ENXIO')
    ) {
      return null;
    }
    throw error;
  }
  try {
    const found = fstatSync(file);
    if (!found.isFile() || found.size > most) {
      return null;
    }
    // One extra byte shows if the file grew while it was read.
    const bytes = Buffer.alloc(found.size + 1);
    let length = 0;
    for (;;) {
      const read = readSync(file, bytes, length, bytes.length - length, null);
      length += read;
      if (read === 0 || length === bytes.length) {
        return bytes.toString('utf8', 0, length);
      }
    }
  } finally {
    closeSync(file);
  }
}

function readOpenFlag(name: 'O_NOFOLLOW' | 'O_NONBLOCK'): number {
  const flags: Readonly<Partial<Record<string, number>>> = constants;
  return flags[name] ?? 0;
}

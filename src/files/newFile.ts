/**
 * Small files of ours, made and read where others may have put something: a name that nobody can know beforehand, a
 * file that is new or an error, never through a link, and for the user alone whatever the umask says.
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

/** Files of ours can be read by their user alone, and folders opened. */
export const PRIVATE_FILE = 0o600;
export const PRIVATE_FOLDER = 0o700;

const RANDOM_BYTES = 8;
/** How the name of an unfinished file ends, with the process that writes it; SQLite has files beside its own. */
const UNFINISHED = /\.(\d+)(?:\.[0-9a-f]{16})?\.tmp(?:-wal|-shm|-journal|\.seal)?$/;

/** What a name carries that nobody can know beforehand. */
export function unguessable(): string {
  return randomBytes(RANDOM_BYTES).toString('hex');
}

/** A name beside `path` for the file that is to take its place. */
export function unfinishedName(path: string): string {
  return `${path}.${process.pid}.${unguessable()}.tmp`;
}

/**
 * Removes files that processes left unfinished when they were killed.
 * @param file its name, where only what was to become that file is meant
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

/** Makes a file for the user alone. @throws what the system says, EEXIST where anything is there, a link too */
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
 * Makes a file with its content and forces it to the disk; one that cannot be written is removed.
 * @throws as createNew
 */
export function writeNew(path: string, content: string): void {
  const file = createNew(path);
  try {
    // A single write may take only what fits on the disk.
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
 * Puts a file in the place of whatever is there at once: a link is replaced, not followed.
 * @throws what the system says
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
 * The text of a small file of ours; null for what is none: a link, a folder, a pipe or device, or more than `most`
 * bytes.
 * @throws what the system says, ENOENT where nothing is there
 */
export function readSmall(path: string, most: number): string | null {
  let file: number;
  try {
    // Windows has neither flag. Without the second, opening a pipe would wait for its other end.
    file = openSync(path, constants.O_RDONLY | flag('O_NOFOLLOW') | flag('O_NONBLOCK'));
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
    // One byte more than there was: a file may grow while it is read.
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

function flag(name: 'O_NOFOLLOW' | 'O_NONBLOCK'): number {
  const flags: Readonly<Partial<Record<string, number>>> = constants;
  return flags[name] ?? 0;
}

/**
 * Finds the address of a store's engine. It is a socket in a private folder of this user, outside
 * of every workspace, so that no workspace can choose one. On Windows it is a named pipe, and the
 * folder holds only the lock and the log.
 */

import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, type Stats } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { PRIVATE_FOLDER } from '../files/newFile.ts';
import { resolveRealFile } from '../files/realFile.ts';
import { C3Error, toErrorMessage } from '../shared/errors.ts';

export interface EngineAddress {
  /** The address to listen on and to connect to. */
  readonly socket: string;
  /** The path of the lock of the engine's process. */
  readonly base: string;
  readonly log: string;
}

const DIGITS = 20;
/** The smallest limit among systems is 104 bytes, including the closing zero. */
const LONGEST_SOCKET = 103;

/**
 * Returns the addresses at which the store's engine may be, the default one first. Missing folders
 * are left out.
 * @param create creates the default folder
 * @throws C3Error('engine') if other users have access to the folder, or if it cannot be created
 */
export function engineAddresses(
  store: string,
  create: boolean,
  env: NodeJS.ProcessEnv = process.env,
): readonly EngineAddress[] {
  const name = storeName(store);
  if (process.platform === 'win32') {
    return [windowsAddress(name, create)];
  }
  const [first, ...others] = listEngineFolders(env);
  if (first === undefined) {
    return [];
  }
  const usable = [...(create ? [createFolder(first)] : [first].filter(pathExists)), ...others.filter(pathExists)];
  return usable.map((folder) => unixAddress(checkedFolder(folder), name));
}

/**
 * Returns a name for a store that is equal for every path to it, like the lock of its writer.
 * Neither the store nor its folder need exist yet.
 */
export function storeName(store: string): string {
  const path = resolveRealFile(store);
  return createHash('sha256')
    .update(`${dirname(path)}\0${basename(path)}`)
    .digest('hex')
    .slice(0, DIGITS);
}

/** Returns the folders for engines of this user, the default one first. */
function listEngineFolders({ XDG_RUNTIME_DIR: runtime }: NodeJS.ProcessEnv): readonly string[] {
  const own = join(tmpdir(), `c3-replay-${process.getuid?.() ?? 0}`);
  return runtime !== undefined && isAbsolute(runtime) && pathExists(runtime)
    ? [join(runtime, 'c3-replay'), own]
    : [own];
}

function pathExists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function createFolder(folder: string): string {
  try {
    mkdirSync(folder, { mode: PRIVATE_FOLDER });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) {
      throw new C3Error(
        'engine',
        `The folder ${folder} for the sockets of engines cannot be created: ${toErrorMessage(error)}. Allow it to be created, or set XDG_RUNTIME_DIR to another folder.`,
        { cause: error },
      );
    }
  }
  return folder;
}

/** @throws C3Error('engine') for a folder in which another user could put something */
function checkedFolder(folder: string): string {
  const fault = folderFault(lstatSync(folder), process.getuid?.() ?? 0);
  if (fault === null) {
    return folder;
  }
  throw new C3Error(
    'engine',
    `The folder ${folder} for the sockets of engines ${fault}: move it away, then try again.`,
  );
}

/** Returns the reason for not trusting a folder, or null if it belongs to the user alone. */
export function folderFault(
  stats: Pick<Stats, 'isDirectory' | 'isSymbolicLink' | 'uid' | 'mode'>,
  user: number,
): string | null {
  if (stats.isSymbolicLink()) {
    return 'is a link';
  }
  if (!stats.isDirectory()) {
    return 'is not a folder';
  }
  if (stats.uid !== user) {
    return `belongs to user ${stats.uid}`;
  }
  return (stats.mode & 0o077) === 0 ? null : 'can be opened by other users';
}

function unixAddress(folder: string, name: string): EngineAddress {
  const base = join(folder, name);
  const socket = `${base}.sock`;
  if (Buffer.byteLength(socket) > LONGEST_SOCKET) {
    throw new C3Error(
      'engine',
      `The path ${socket} is too long for a socket: set XDG_RUNTIME_DIR to a shorter folder.`,
    );
  }
  return { socket, base, log: `${base}.log` };
}

function windowsAddress(name: string, create: boolean): EngineAddress {
  const folder = join(tmpdir(), 'c3-replay');
  if (create) {
    mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER });
  }
  const user = createHash('sha256').update(homedir()).digest('hex').slice(0, DIGITS);
  return {
    socket: `\\\\.\\pipe\\c3-replay-${user}-${name}`,
    base: join(folder, name),
    log: join(folder, `${name}.log`),
  };
}

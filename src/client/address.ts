/**
 * Where the engine of a store is found: a socket in a folder of this user's, outside of every workspace, so that no
 * workspace can name one. On Windows it is a named pipe, and the folder holds the lock and the log only.
 */
import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, type Stats } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { PRIVATE_FOLDER } from '../files/newFile.ts';
import { realFile } from '../files/realFile.ts';
import { C3Error, messageOf } from '../shared/errors.ts';

export interface EngineAddress {
  /** What to listen on and to connect to. */
  readonly socket: string;
  /** The path to which the lock of the engine's process belongs. */
  readonly base: string;
  readonly log: string;
}

const DIGITS = 20;
/** The shortest limit among systems is 104 bytes with the closing zero. */
const LONGEST_SOCKET = 103;

/**
 * The addresses at which the store's engine may be, the usual one first; folders that are not there are left out.
 * @param create makes the usual folder
 * @throws C3Error('engine') where the folder is not this user's alone, or cannot be made
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
  const [first, ...others] = folders(env);
  if (first === undefined) {
    return [];
  }
  const usable = [...(create ? [made(first)] : [first].filter(isThere)), ...others.filter(isThere)];
  return usable.map((folder) => unixAddress(checkedFolder(folder), name));
}

/**
 * A name for a store: equal for every path that leads to it, as its writer's lock is. Neither it nor its folder need be
 * there yet.
 */
export function storeName(store: string): string {
  const path = realFile(store);
  return createHash('sha256')
    .update(`${dirname(path)}\0${basename(path)}`)
    .digest('hex')
    .slice(0, DIGITS);
}

/** The folders in which engines of this user are, the usual one first. */
function folders({ XDG_RUNTIME_DIR: runtime }: NodeJS.ProcessEnv): readonly string[] {
  const own = join(tmpdir(), `c3-replay-${process.getuid?.() ?? 0}`);
  return runtime !== undefined && isAbsolute(runtime) && isThere(runtime) ? [join(runtime, 'c3-replay'), own] : [own];
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function made(folder: string): string {
  try {
    mkdirSync(folder, { mode: PRIVATE_FOLDER });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) {
      throw new C3Error(
        'engine',
        `The folder ${folder} for the sockets of engines cannot be created: ${messageOf(error)}. Allow it to be created, or set XDG_RUNTIME_DIR to another folder.`,
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

/** Why a folder is not to be trusted; null where it belongs to the user alone. */
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

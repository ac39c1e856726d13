/**
 * Creates temporary folders of this program. They lie in one folder of the user and carry the id of
 * the process that created them, so that the next start removes the folders of killed processes.
 */

import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive, readProcessStart } from './processes.ts';

/** Anybody may pass through it, as another user's sandbox does. Only its user can list it. */
const PARENT_MODE = 0o711;
/** The machine (several can share the folder), the process id, and the start of the process. */
const NAME = /^([0-9a-f]{8})\.(\d+)\.(\d*)\./u;
const MACHINE = createHash('sha256').update(hostname()).digest('hex').slice(0, 8);

/**
 * Creates a temporary folder for the user alone. The caller removes it.
 * @param purpose a word in its name
 * @param within the folder for temporary files
 * @throws the system's error
 */
export function createTemporaryFolder(purpose: string, within = tmpdir()): string {
  const parent = findTemporaryParent(within);
  mkdirSync(parent, { recursive: true, mode: PARENT_MODE });
  // If the parent belongs to another user or is a link, a folder with an unguessable name beside it
  // is safe.
  return isOwn(parent)
    ? mkdtempSync(join(parent, `${MACHINE}.${process.pid}.${readProcessStart(process.pid) ?? ''}.${purpose}-`))
    : mkdtempSync(join(within, `c3-${purpose}-`));
}

/** Removes folders that ended processes of this machine left behind. */
export function removeAbandoned(within = tmpdir()): void {
  const parent = findTemporaryParent(within);
  if (!isOwn(parent)) {
    return;
  }
  for (const name of readdirSync(parent)) {
    const [, machine, pid, start = ''] = NAME.exec(name) ?? [];
    if (machine === MACHINE && !isAlive({ pid: Number(pid), processStart: start === '' ? null : start })) {
      try {
        rmSync(join(parent, name), { recursive: true, force: true });
      } catch {
        // The next start tries again.
      }
    }
  }
}

const findTemporaryParent = (within: string): string => join(within, `c3-folders-${process.getuid?.() ?? 'user'}`);

/** Returns true if a folder exists that only this user can change. */
function isOwn(folder: string): boolean {
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  return (
    stats?.isDirectory() === true &&
    stats.uid === (process.getuid?.() ?? stats.uid) &&
    (process.platform === 'win32' || (stats.mode & 0o022) === 0)
  );
}

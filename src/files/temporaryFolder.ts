/**
 * Temporary folders of this program. They lie in one folder of the user's and carry the process that made them, so that
 * what a killed process leaves behind goes with the next start.
 */
import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive, processStartOf } from './processes.ts';

/** Anybody may go through it, as a sandbox of another user does, and none but its user sees what it holds. */
const PARENT_MODE = 0o711;
/** The machine, since several can share a folder for temporary files; the process, and when it began. */
const NAME = /^([0-9a-f]{8})\.(\d+)\.(\d*)\./u;
const MACHINE = createHash('sha256').update(hostname()).digest('hex').slice(0, 8);

/**
 * Makes a temporary folder for the user alone. Whoever asks removes it.
 * @param purpose a word in its name
 * @param within where temporary files lie
 * @throws what the system says
 */
export function temporaryFolder(purpose: string, within = tmpdir()): string {
  const parent = parentIn(within);
  mkdirSync(parent, { recursive: true, mode: PARENT_MODE });
  // Somebody else's, or a link of somebody's: a folder with a name that nobody can know is safe beside it.
  return isOwn(parent)
    ? mkdtempSync(join(parent, `${MACHINE}.${process.pid}.${processStartOf(process.pid) ?? ''}.${purpose}-`))
    : mkdtempSync(join(within, `c3-${purpose}-`));
}

/** Removes the folders of this machine's processes that have ended without removing them: for a process that starts. */
export function removeAbandoned(within = tmpdir()): void {
  const parent = parentIn(within);
  if (!isOwn(parent)) {
    return;
  }
  for (const name of readdirSync(parent)) {
    const [, machine, pid, start = ''] = NAME.exec(name) ?? [];
    if (machine === MACHINE && !isAlive({ pid: Number(pid), processStart: start === '' ? null : start })) {
      try {
        rmSync(join(parent, name), { recursive: true, force: true });
      } catch {
        // What cannot be removed is looked at again by the next one.
      }
    }
  }
}

const parentIn = (within: string): string => join(within, `c3-folders-${process.getuid?.() ?? 'user'}`);

/** Whether a folder is there that only this user can change. */
function isOwn(folder: string): boolean {
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  return (
    stats?.isDirectory() === true &&
    stats.uid === (process.getuid?.() ?? stats.uid) &&
    (process.platform === 'win32' || (stats.mode & 0o022) === 0)
  );
}

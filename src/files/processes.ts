/** Finds out if a process that a file names is still alive. */

import { readFileSync } from 'node:fs';

const ENDED = 'ended';

/**
 * Returns true if a process of this machine is alive.
 * @param processStart if known, a later process with the same id does not count
 */
export function isAlive({
  pid,
  processStart,
}: {
  readonly pid: number;
  readonly processStart: string | null;
}): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // Any other error, such as EPERM, means that the process exists.
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') {
      return false;
    }
  }
  const start = readProcessStart(pid);
  return start === null || (start !== ENDED && (processStart === null || start === processStart));
}

/**
 * Returns the start time of a process from Linux's /proc, or null on other systems. It is ENDED if
 * the process only waits to be reaped.
 */
export function readProcessStart(pid: number): string | null {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return null;
  }
  // The second field is the program's name in parentheses, which may hold blanks. The state is
  // field 3, the start time field 22.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? ENDED : (fields[19] ?? null);
}

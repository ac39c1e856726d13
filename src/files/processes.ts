/** Whether the process that a file names is still there. */
import { readFileSync } from 'node:fs';

const ENDED = 'ended';

/**
 * Whether a process of this machine lives.
 * @param processStart where it is known, a process that was given the same number later is another one
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
    // Any other refusal (EPERM) comes from a process that is there.
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') {
      return false;
    }
  }
  const start = processStartOf(pid);
  return start === null || (start !== ENDED && (processStart === null || start === processStart));
}

/** Start time of a process from Linux's /proc (ENDED for one that only waits to be reaped); null on other systems. */
export function processStartOf(pid: number): string | null {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return null;
  }
  // The second field is the program's name in brackets and may hold blanks; the state is field 3, the start time field
  // 22.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? ENDED : (fields[19] ?? null);
}

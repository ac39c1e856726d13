/** Reads the processor time of processes from Linux. */

import { readdirSync, readFileSync } from 'node:fs';

const TICKS_PER_SECOND = 100;

interface Times {
  readonly group: number;
  /** Processor seconds of the process. */
  readonly own: number;
  /** Processor seconds of its ended children and of their ended children. */
  readonly children: number;
}

/** Returns the times of a process, or undefined if it has ended or the system is not Linux. */
function readTimes(pid: string): Times | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The fields after the name, which may contain any character.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const seconds = (...places: number[]): number =>
      places.reduce((sum, place) => sum + Number(fields[place]), 0) / TICKS_PER_SECOND;
    return { group: Number(fields[2]), own: seconds(11, 12), children: seconds(13, 14) };
  } catch {
    return undefined;
  }
}

/** Returns the processor seconds of this process and of its ended children. */
export function ownSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6 + (readTimes('self')?.children ?? 0);
}

/** Returns the processor seconds of process groups so far, or 0 on systems other than Linux. */
export function groupSeconds(groups: readonly number[]): number {
  if (process.platform !== 'linux') {
    return 0;
  }
  const times = readdirSync('/proc')
    .filter((name) => /^\d+$/u.test(name))
    .flatMap((pid) => readTimes(pid) ?? [])
    .filter(({ group }) => groups.includes(group));
  return times.reduce((sum, { own, children }) => sum + own + children, 0);
}

/** Processor time of processes, as Linux counts it. */
import { readdirSync, readFileSync } from 'node:fs';

const TICKS_PER_SECOND = 100;

interface Times {
  readonly group: number;
  /** Of the process, in seconds. */
  readonly own: number;
  /** Of its children that have ended, and of theirs, in seconds. */
  readonly children: number;
}

/** The times of a process; undefined where it has ended or this is no Linux. */
function timesOf(pid: string): Times | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Behind the name, which may hold anything.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const seconds = (...places: number[]): number =>
      places.reduce((sum, place) => sum + Number(fields[place]), 0) / TICKS_PER_SECOND;
    return { group: Number(fields[2]), own: seconds(11, 12), children: seconds(13, 14) };
  } catch {
    return undefined;
  }
}

/** The processor time of this process and of what it started and what has ended since, in seconds. */
export function ownSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6 + (timesOf('self')?.children ?? 0);
}

/** The processor time of process groups so far, in seconds; 0 on other systems than Linux. */
export function groupSeconds(groups: readonly number[]): number {
  if (process.platform !== 'linux') {
    return 0;
  }
  const times = readdirSync('/proc')
    .filter((name) => /^\d+$/u.test(name))
    .flatMap((pid) => timesOf(pid) ?? [])
    .filter(({ group }) => groups.includes(group));
  return times.reduce((sum, { own, children }) => sum + own + children, 0);
}

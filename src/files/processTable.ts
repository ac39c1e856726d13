/** The processes of this machine as Linux lists them; elsewhere none is listed. */
import { readdirSync, readFileSync } from 'node:fs';

/** A living process, or one that has ended and whose parent has not heard of it yet. */
export interface ListedProcess {
  readonly pid: number;
  readonly group: number;
  /** When it started, in ticks of the system's clock: with the pid, which comes again, it names one process. */
  readonly start: number;
  readonly hasEnded: boolean;
}

/** Fields of /proc/PID/stat behind the name, which may hold anything (proc(5)). */
const [STATE, GROUP, START] = [0, 2, 19];

/** A process; null where there is none, or the system lists none. */
export function listedProcess(pid: number): ListedProcess | null {
  const stat = textOf(pid, 'stat');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const start = Number(fields[START]);
  const hasEnded = /^[ZXx]/u.test(fields[STATE] ?? '');
  return Number.isNaN(start) ? null : { pid, group: Number(fields[GROUP]), start, hasEnded };
}

/** All of them. */
export function listedProcesses(): readonly ListedProcess[] {
  let names: readonly string[];
  try {
    names = readdirSync('/proc');
  } catch {
    return [];
  }
  return names.flatMap((name) => (/^\d+$/u.test(name) ? (listedProcess(Number(name)) ?? []) : []));
}

/** The environment that a process began with; empty where it has ended, or is another user's. */
export const environmentOf = (pid: number): string => textOf(pid, 'environ');

function textOf(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
}

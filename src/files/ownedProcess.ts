/**
 * Runs programs of the user and interpreters that end together with all processes that they
 * started. Nothing survives their work or this process, however it ends. Each program has its own
 * process group, and a mark in its environment by which Linux finds processes that left the group.
 * A group is signaled only while one of its processes is known to belong to the program, because
 * process ids are reused. Other systems list no processes: there, the group is ended, and on
 * Windows only the program itself.
 */

import { spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';

/** The options with which an owned program is spawned. */
export interface Ownership {
  readonly detached: boolean;
  readonly env: NodeJS.ProcessEnv;
}

/** The known processes of a program. */
interface Owned {
  readonly mark: string;
  /** Its own process when it started, or null if the system lists no processes. */
  readonly leader: ListedProcess | null;
  /** The names of all processes that were found to belong to the program. */
  readonly seen: Set<string>;
}

/** The variable with the marks of all owners of a process. Owned programs may be nested. */
const VARIABLE = 'C3_OWNED';
const LOOK_EVERY_MILLISECONDS = 20;
/**
 * The time limit for killed processes to disappear. It takes a moment, or seconds on a busy system.
 * Processes that are left after it cannot be ended.
 */
const KILLED_MILLISECONDS = 10_000;
/** The most searches for processes that were started between a search and its kills. */
const MOST_LOOKS = 100;
/**
 * The number of searches without a result after which the watching process ends. They are a fifth
 * of a second apart, because a program that was just starting when this process was killed has no
 * mark yet.
 */
const QUIET_LOOKS = 10;

/**
 * The script of the watching process. It ends the remaining processes when its standard input ends,
 * which happens even if this process is killed. It reads the leaders of groups that come (+) and go
 * (-) as PID:START. It has its own session and environment, so that nothing ends it first. If the
 * leader has gone, a marked process identifies the group.
 */
const WATCH = `trap '' HUP INT TERM
leaders=' '
while read -r sign leader; do
  case $sign in
    +) leaders="$leaders$leader " ;;
    *) case $leaders in *" $leader "*) leaders="\${leaders%%" $leader "*} \${leaders#*" $leader "}" ;; esac ;;
  esac
done
about() {
  stat= group= start=
  read -r stat <"/proc/$1/stat" && set -- \${stat##*) } && group=$3 && start=\${20}
}
for leader in $leaders; do
  about "\${leader%:*}"
  [ "\${leader#*:}" = "$start" ] && kill -KILL "-\${leader%:*}"
done 2>/dev/null
look=0
quiet=0
while [ $look -lt ${MOST_LOOKS} ] && [ $quiet -lt ${QUIET_LOOKS} ]; do
  look=$((look + 1))
  left=$(grep -alsF "$1" /proc/[0-9]*/environ)
  quiet=$((quiet + 1))
  [ -n "$left" ] || { sleep 0.2; continue; }
  quiet=0
  for file in $left; do
    pid="\${file#/proc/}" pid="\${pid%/environ}"
    about "$pid"
    case $leaders in *" $group:"*) kill -KILL "-$group" ;; *) kill -KILL "$pid" ;; esac
  done 2>/dev/null
done`;

const isWindows = process.platform === 'win32';
/** The common beginning of all marks of this process. */
const own = randomBytes(16).toString('hex');
let count = 0;

/** The programs whose processes were not seen to end. */
const living = new Map<ChildProcess, Owned>();
let watch: ChildProcessByStdio<Writable, null, null> | undefined;

const nameProcess = ({ pid, start }: ListedProcess): string => `${pid}:${start}`;

/** Starts the watching process, unless it is already running. */
function startWatch(): void {
  if (isWindows || watch !== undefined) {
    return;
  }
  const env = { PATH: process.env['PATH'] };
  watch = spawn('/bin/sh', ['-c', WATCH, 'c3-watch', own], {
    detached: true,
    env,
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  watch.on('error', () => undefined).unref();
  watch.stdin.on('error', () => undefined);
  if (watch.stdin instanceof Socket) {
    // The pipe must not keep this process alive.
    watch.stdin.unref();
  }
}

/** Adds a group to the watching process, or removes it. */
function updateWatch(sign: '+' | '-', { pid }: ChildProcess, leader: ListedProcess | null): void {
  if (pid !== undefined) {
    watch?.stdin.write(`${sign} ${leader === null ? `${pid}:` : nameProcess(leader)}\n`);
  }
}

function killLiving(): void {
  for (const child of living.keys()) {
    killOwned(child);
  }
}

/**
 * Spawns a program that ends no later than this process, together with all processes that it
 * started.
 * @param env of the program
 * @param start spawns it with the given options and any others
 */
export function spawnOwned<Child extends ChildProcess>(
  env: Readonly<NodeJS.ProcessEnv>,
  start: (ownership: Ownership) => Child,
): Child {
  // The watch comes first, because this process may be killed at any moment. A fork of this process
  // that is about to become the program also holds the pipe, so the watch begins to search only
  // after the program has its mark.
  startWatch();
  const mark = `${own}.${count++};`;
  const child = start({ detached: !isWindows, env: { ...env, [VARIABLE]: `${env[VARIABLE] ?? ''}${mark}` } });
  // The process is listed until the next turn at least, even if it has ended.
  const leader = child.pid === undefined ? null : findListedProcess(child.pid);
  if (living.size === 0) {
    process.on('exit', killLiving);
  }
  living.set(child, { mark, leader, seen: new Set(leader === null ? [] : [nameProcess(leader)]) });
  updateWatch('+', child, leader);
  return child;
}

function disown(child: ChildProcess, { leader }: Owned): void {
  living.delete(child);
  updateWatch('-', child, leader);
  if (living.size === 0) {
    process.off('exit', killLiving);
  }
}

/** Returns the living processes of a program, or none if the system does not list them. */
function findProcesses({ mark, leader, seen }: Owned): readonly ListedProcess[] {
  if (leader === null) {
    return [];
  }
  const { pid, start } = leader;
  const young = listProcesses().filter((one) => one.start >= start);
  // A process that was found once belongs to the program, even if its environment cannot be read
  // again.
  const marked = new Set(
    young.filter((one) => seen.has(nameProcess(one)) || readProcessEnvironment(one.pid).includes(mark)),
  );
  const isOwnGroup = young.some((one) => one.group === pid && marked.has(one));
  const found = young.filter((one) => !one.hasEnded && (marked.has(one) || (isOwnGroup && one.group === pid)));
  for (const one of found) {
    seen.add(nameProcess(one));
  }
  return found;
}

const hasExited = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null;

/** Signals a program and all processes that it started. Returns false if none is left. */
function signalOwned(child: ChildProcess, owned: Owned, signal: NodeJS.Signals | 0): boolean {
  const { pid } = child;
  if (pid === undefined) {
    return false;
  }
  if (isWindows) {
    return !hasExited(child) && child.kill(signal);
  }
  if (owned.leader === null) {
    return trySignal(-pid, signal);
  }
  return signalFound(pid, findProcesses(owned), signal);
}

/**
 * Signals found processes of a program.
 * @param pid of the program's own process
 */
function signalFound(pid: number, found: readonly ListedProcess[], signal: NodeJS.Signals | 0): boolean {
  if (found.some(({ group }) => group === pid)) {
    trySignal(-pid, signal);
  }
  for (const one of found) {
    if (one.group !== pid && findListedProcess(one.pid)?.start === one.start) {
      trySignal(one.pid, signal);
    }
  }
  return found.length > 0;
}

/** Signals a process or a group. Returns false if there is none, or none that may be signaled. */
function trySignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/** Kills a program and all processes that it started. Does nothing if it was ended before. */
export function killOwned(child: ChildProcess): void {
  const owned = living.get(child);
  if (owned !== undefined) {
    killAll(child, owned);
    disown(child, owned);
  }
}

/**
 * Kills the processes of a program. It searches again until it finds no new ones, because killed
 * processes start none.
 * @returns false if no process is left
 */
function killAll(child: ChildProcess, owned: Owned): boolean {
  if (child.pid === undefined || owned.leader === null) {
    return signalOwned(child, owned, 'SIGKILL');
  }
  const killed = new Set<string>();
  for (let look = 0; look < MOST_LOOKS; look++) {
    const found = findProcesses(owned);
    if (found.every((one) => killed.has(nameProcess(one)))) {
      return found.length > 0;
    }
    signalFound(child.pid, found, 'SIGKILL');
    for (const one of found) {
      killed.add(nameProcess(one));
    }
  }
  return true;
}

/**
 * Ends a program and all processes that it started, even if the program itself has ended.
 * @param patience milliseconds in which they may end by themselves before they are killed; 0 kills
 *   at once
 */
export async function endOwned(child: ChildProcess, patience: number): Promise<void> {
  const owned = living.get(child);
  if (owned === undefined) {
    return;
  }
  if (patience > 0) {
    signalOwned(child, owned, 'SIGTERM');
  }
  const isLeft = (): boolean => signalOwned(child, owned, 0);
  if (patience === 0 || !(await isGoneWithin(child, isLeft, patience))) {
    // A process that is just starting has no readable mark yet. Each search kills the processes
    // that it finds.
    await isGoneWithin(child, () => killAll(child, owned), KILLED_MILLISECONDS);
  }
  disown(child, owned);
}

async function isGoneWithin(child: ChildProcess, isLeft: () => boolean, milliseconds: number): Promise<boolean> {
  const until = performance.now() + milliseconds;
  // The exit must also have been reported, because a caller may look up the process id next.
  while (isLeft() || (child.pid !== undefined && !hasExited(child))) {
    if (performance.now() > until) {
      return false;
    }
    await delay(LOOK_EVERY_MILLISECONDS);
  }
  return true;
}

// Reads the list of processes from Linux's /proc. Other systems list none.

/** A living process, or an ended one that its parent has not reaped yet. */
export interface ListedProcess {
  readonly pid: number;
  readonly group: number;
  /** The start in ticks of the system's clock. Together with the reused pid, it is unique. */
  readonly start: number;
  readonly hasEnded: boolean;
}

/** Indices of fields of /proc/PID/stat after the name, which may hold any characters (proc(5)). */
const [STATE, GROUP, START] = [0, 2, 19];

/** Returns a process, or null if there is none or the system lists none. */
export function findListedProcess(pid: number): ListedProcess | null {
  const stat = readProcFile(pid, 'stat');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const start = Number(fields[START]);
  const hasEnded = /^[ZXx]/u.test(fields[STATE] ?? '');
  return Number.isNaN(start) ? null : { pid, group: Number(fields[GROUP]), start, hasEnded };
}

/** Returns all processes. */
export function listProcesses(): readonly ListedProcess[] {
  let names: readonly string[];
  try {
    names = readdirSync('/proc');
  } catch {
    return [];
  }
  return names.flatMap((name) => (/^\d+$/u.test(name) ? (findListedProcess(Number(name)) ?? []) : []));
}

/** Returns the initial environment of a process, empty if it ended or is another user's. */
export const readProcessEnvironment = (pid: number): string => readProcFile(pid, 'environ');

function readProcFile(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
}

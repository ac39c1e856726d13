/**
 * Programs of the user's, and interpreters, that end with all that they started: neither their work nor this process is
 * outlived, however that ends. Each has a process group of its own, and a mark in its environment by which Linux finds
 * what left the group. A group is signaled only as long as one of its processes is known to be the program's: process
 * ids come again. Other systems list no processes: there the group ends, and on Windows the program itself.
 */
import { spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';

/** What an owned program is spawned with, beside what else it needs. */
export interface Ownership {
  readonly detached: boolean;
  readonly env: NodeJS.ProcessEnv;
}

/** What is known of a program's processes. */
interface Owned {
  readonly mark: string;
  /** Its own process as it started; null where the system lists none. */
  readonly leader: ListedProcess | null;
  /** The names of all that were seen to be the program's. */
  readonly seen: Set<string>;
}

/** The variable that has the marks of all who own a process, such as those of a program in a program. */
const VARIABLE = 'C3_OWNED';
const LOOK_EVERY_MILLISECONDS = 20;
/**
 * The system needs a moment for processes that were killed, and seconds where it is busy; what still is there by then
 * cannot be ended.
 */
const KILLED_MILLISECONDS = 10_000;
/** Looks for what was started between the look before and its kills. */
const MOST_LOOKS = 100;
/**
 * Looks in which nobody is found until the watching process ends, a fifth of a second apart: a program that was just
 * being started when this process was killed has no mark yet.
 */
const QUIET_LOOKS = 10;

/**
 * Ends what is left once its standard input ends: nobody else is there where this process was killed. It hears of the
 * leaders of groups that come (+) and go (-), as PID:START, and is in a session and an environment of its own, so that
 * nothing ends it first. Where the leader has gone, a group is known by a marked process.
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
/** What all marks of this process begin with. */
const own = randomBytes(16).toString('hex');
let count = 0;

/** The programs whose processes were not seen to end. */
const living = new Map<ChildProcess, Owned>();
let watch: ChildProcessByStdio<Writable, null, null> | undefined;

const nameOf = ({ pid, start }: ListedProcess): string => `${pid}:${start}`;

/** Starts the watching process, unless it runs already. */
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
    // Nobody waits for what waits for this process.
    watch.stdin.unref();
  }
}

/** Adds a group to the watching process, or removes it. */
function tell(sign: '+' | '-', { pid }: ChildProcess, leader: ListedProcess | null): void {
  if (pid !== undefined) {
    watch?.stdin.write(`${sign} ${leader === null ? `${pid}:` : nameOf(leader)}\n`);
  }
}

function killLiving(): void {
  for (const child of living.keys()) {
    killOwned(child);
  }
}

/**
 * Spawns a program that ends with this process at the latest, and with it all that it started.
 * @param env of the program
 * @param start spawns it with what it is given, and what else it needs
 */
export function spawnOwned<Child extends ChildProcess>(
  env: Readonly<NodeJS.ProcessEnv>,
  start: (ownership: Ownership) => Child,
): Child {
  // First, for this process may be killed at any moment. A copy of this process that is to become the program holds the
  // pipe of the watching process, too: that begins to look once the program has its mark.
  startWatch();
  const mark = `${own}.${count++};`;
  const child = start({ detached: !isWindows, env: { ...env, [VARIABLE]: `${env[VARIABLE] ?? ''}${mark}` } });
  // It is listed to the next turn at least, though it may have ended.
  const leader = child.pid === undefined ? null : listedProcess(child.pid);
  if (living.size === 0) {
    process.on('exit', killLiving);
  }
  living.set(child, { mark, leader, seen: new Set(leader === null ? [] : [nameOf(leader)]) });
  tell('+', child, leader);
  return child;
}

function disown(child: ChildProcess, { leader }: Owned): void {
  living.delete(child);
  tell('-', child, leader);
  if (living.size === 0) {
    process.off('exit', killLiving);
  }
}

/** The living processes of a program; none where the system does not list them. */
function processesOf({ mark, leader, seen }: Owned): readonly ListedProcess[] {
  if (leader === null) {
    return [];
  }
  const { pid, start } = leader;
  const young = listedProcesses().filter((one) => one.start >= start);
  // Who was seen once stays the program's, whether or not its environment can be read again.
  const marked = new Set(young.filter((one) => seen.has(nameOf(one)) || environmentOf(one.pid).includes(mark)));
  const isOwnGroup = young.some((one) => one.group === pid && marked.has(one));
  const found = young.filter((one) => !one.hasEnded && (marked.has(one) || (isOwnGroup && one.group === pid)));
  for (const one of found) {
    seen.add(nameOf(one));
  }
  return found;
}

const hasExited = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null;

/** Signals a program and all that it started. @returns false where nobody is left */
function signalOwned(child: ChildProcess, owned: Owned, signal: NodeJS.Signals | 0): boolean {
  const { pid } = child;
  if (pid === undefined) {
    return false;
  }
  if (isWindows) {
    return !hasExited(child) && child.kill(signal);
  }
  if (owned.leader === null) {
    return signaled(-pid, signal);
  }
  return signalFound(pid, processesOf(owned), signal);
}

/** @param found processes of the program that `pid` began as */
function signalFound(pid: number, found: readonly ListedProcess[], signal: NodeJS.Signals | 0): boolean {
  if (found.some(({ group }) => group === pid)) {
    signaled(-pid, signal);
  }
  for (const one of found) {
    if (one.group !== pid && listedProcess(one.pid)?.start === one.start) {
      signaled(one.pid, signal);
    }
  }
  return found.length > 0;
}

/** @returns false where nobody is left, or nobody who may be signaled */
function signaled(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/** Kills a program and all that it started at once; nothing where it was ended before. */
export function killOwned(child: ChildProcess): void {
  const owned = living.get(child);
  if (owned !== undefined) {
    killAll(child, owned);
    disown(child, owned);
  }
}

/**
 * Kills the processes of a program. It looks again until it finds no new ones: a killed process starts no others.
 * @returns false if no process is left
 */
function killAll(child: ChildProcess, owned: Owned): boolean {
  if (child.pid === undefined || owned.leader === null) {
    return signalOwned(child, owned, 'SIGKILL');
  }
  const killed = new Set<string>();
  for (let look = 0; look < MOST_LOOKS; look++) {
    const found = processesOf(owned);
    if (found.every((one) => killed.has(nameOf(one)))) {
      return found.length > 0;
    }
    signalFound(child.pid, found, 'SIGKILL');
    for (const one of found) {
      killed.add(nameOf(one));
    }
  }
  return true;
}

/**
 * Ends a program and all that it started, whether the program itself lives or not.
 * @param patience milliseconds that they have to end by themselves; then they are killed, with 0 at once
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
    // A process that is just starting has no readable mark yet. Each look kills what it finds.
    await isGoneWithin(child, () => killAll(child, owned), KILLED_MILLISECONDS);
  }
  disown(child, owned);
}

async function isGoneWithin(child: ChildProcess, isLeft: () => boolean, milliseconds: number): Promise<boolean> {
  const until = performance.now() + milliseconds;
  // Whoever waits for its end may look for its number next: it is heard of, too.
  while (isLeft() || (child.pid !== undefined && !hasExited(child))) {
    if (performance.now() > until) {
      return false;
    }
    await delay(LOOK_EVERY_MILLISECONDS);
  }
  return true;
}

// The processes of this machine as Linux lists them; elsewhere none is listed.

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

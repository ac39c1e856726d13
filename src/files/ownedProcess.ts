/**
 * Programs of the user's that end with all that they started: neither their work nor this process is outlived, however
 * that ends. Each has a process group of its own, and a mark in its environment by which Linux finds what left the
 * group. Windows knows neither: there the program itself ends.
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

/** The variable that has the marks of all who own a process, such as those of a program in a program. */
const VARIABLE = 'C3_OWNED';
const LOOK_EVERY_MILLISECONDS = 20;
/** The system needs a moment for processes that were killed; what still is there by then cannot be ended. */
const KILLED_MILLISECONDS = 1000;
/** Looks for what others started while it was looked for. */
const MOST_LOOKS = 100;

/**
 * Ends what is left once its standard input ends: nobody else is there where this process was killed. It hears the
 * groups that come (+) and go (-), and is in a session and an environment of its own, so that nothing ends it first.
 */
const WATCH = `trap '' HUP INT TERM
groups=' '
while read -r line; do
  group="\${line#?}"
  case $line in
    +*) groups="$groups$group " ;;
    *) case $groups in *" $group "*) groups="\${groups%%" $group "*} \${groups#*" $group "}" ;; esac ;;
  esac
done
for group in $groups; do kill -KILL "-$group"; done 2>/dev/null
look=0
while [ $look -lt ${String(MOST_LOOKS)} ]; do
  look=$((look + 1))
  left=$(grep -alsF "$1" /proc/[0-9]*/environ)
  [ -n "$left" ] || exit 0
  for file in $left; do pid="\${file#/proc/}"; kill -KILL "\${pid%/environ}"; done 2>/dev/null
done`;

const isWindows = process.platform === 'win32';
/** What all marks of this process begin with. */
const own = randomBytes(16).toString('hex');
let count = 0;

/** The marks of programs whose processes were not seen to end. */
const living = new Map<ChildProcess, string>();
let watch: ChildProcessByStdio<Writable, null, null> | undefined;

/** Tells the watching process, which is there from the first program on, of a group. */
function tell(sign: '+' | '-', { pid }: ChildProcess): void {
  if (isWindows || pid === undefined) {
    return;
  }
  if (watch === undefined) {
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
  watch.stdin.write(`${sign}${String(pid)}\n`);
}

function killLiving(): void {
  for (const child of living.keys()) {
    signalGroup(child, 'SIGKILL');
  }
  killMarked(own);
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
  const mark = `${own}.${String(count++)};`;
  const child = start({ detached: !isWindows, env: { ...env, [VARIABLE]: `${env[VARIABLE] ?? ''}${mark}` } });
  if (living.size === 0) {
    process.on('exit', killLiving);
  }
  living.set(child, mark);
  tell('+', child);
  return child;
}

function disown(child: ChildProcess): void {
  living.delete(child);
  tell('-', child);
  if (living.size === 0) {
    process.off('exit', killLiving);
  }
}

/** Signals a program and all of its group. @returns false where nobody is left */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  const { pid } = child;
  if (pid === undefined) {
    return false;
  }
  if (isWindows) {
    return child.exitCode === null && child.signalCode === null && child.kill(signal);
  }
  try {
    return process.kill(-pid, signal);
  } catch {
    // Nobody is left, or nobody who may be signaled.
    return false;
  }
}

/** The living processes that have a mark in their environment; none where the system does not show it. */
function marked(mark: string): readonly number[] {
  let names: readonly string[];
  try {
    names = readdirSync('/proc');
  } catch {
    return [];
  }
  return names.flatMap((name) => {
    try {
      return /^\d+$/u.test(name) && readFileSync(`/proc/${name}/environ`, 'latin1').includes(mark)
        ? [Number(name)]
        : [];
    } catch {
      // It has ended, or is another user's.
      return [];
    }
  });
}

/** Signals all that have a mark. @returns false where nobody is left */
function signalMarked(mark: string, signal: NodeJS.Signals): boolean {
  const left = marked(mark);
  for (const pid of left) {
    try {
      process.kill(pid, signal);
    } catch {
      // It was faster.
    }
  }
  return left.length > 0;
}

/** Kills all that have a mark, and what they start meanwhile. */
function killMarked(mark: string): void {
  for (let look = 0; look < MOST_LOOKS && signalMarked(mark, 'SIGKILL'); look++) {
    // The next look finds those who were started between.
  }
}

/** Kills a program and all that it started at once; nothing where it was ended before. */
export function killOwned(child: ChildProcess): void {
  const mark = living.get(child);
  if (mark !== undefined) {
    signalGroup(child, 'SIGKILL');
    killMarked(mark);
    disown(child);
  }
}

/**
 * Ends a program and all that it started, whether the program itself lives or not.
 * @param patience milliseconds that they have to end by themselves; then they are killed
 */
export async function endOwned(child: ChildProcess, patience: number): Promise<void> {
  const mark = living.get(child);
  if (mark === undefined) {
    return;
  }
  signalGroup(child, 'SIGTERM');
  signalMarked(mark, 'SIGTERM');
  if (!(await isGoneWithin(child, mark, patience))) {
    signalGroup(child, 'SIGKILL');
    killMarked(mark);
    await isGoneWithin(child, mark, KILLED_MILLISECONDS);
  }
  disown(child);
}

async function isGoneWithin(child: ChildProcess, mark: string, milliseconds: number): Promise<boolean> {
  const until = performance.now() + milliseconds;
  while (signalGroup(child, 0) || marked(mark).length > 0) {
    if (performance.now() > until) {
      return false;
    }
    await delay(LOOK_EVERY_MILLISECONDS);
  }
  return true;
}

/**
 * Programs of the user's that end with all that they started: each has a process group of its own, which outlives
 * neither its work nor this process. Windows knows no groups: there the program itself ends.
 */
import type { ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';

/** How an owned program is spawned, beside what else it needs. */
export const OWN_GROUP = { detached: process.platform !== 'win32' } as const;

const LOOK_EVERY_MILLISECONDS = 20;
/** The system needs a moment for processes that were killed; what still is there by then cannot be ended. */
const KILLED_MILLISECONDS = 1000;

/** Programs whose groups were not seen to end. */
const living = new Set<ChildProcess>();

function killLiving(): void {
  for (const child of living) {
    signalGroup(child, 'SIGKILL');
  }
}

/** Takes a program that was spawned with OWN_GROUP along when this process exits, until its group is ended. */
export function owned<Child extends ChildProcess>(child: Child): Child {
  if (living.size === 0) {
    process.on('exit', killLiving);
  }
  living.add(child);
  return child;
}

function disown(child: ChildProcess): void {
  living.delete(child);
  if (living.size === 0) {
    process.off('exit', killLiving);
  }
}

/** Signals a program and all that it started. @returns false where nobody is left */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  const { pid } = child;
  if (pid === undefined) {
    return false;
  }
  if (process.platform === 'win32') {
    return child.exitCode === null && child.signalCode === null && child.kill(signal);
  }
  try {
    return process.kill(-pid, signal);
  } catch {
    // Nobody is left, or nobody who may be signaled.
    return false;
  }
}

/** Kills a program and all that it started at once. */
export function killGroup(child: ChildProcess): void {
  signalGroup(child, 'SIGKILL');
  disown(child);
}

/**
 * Ends a program and all that it started, whether the program itself lives or not.
 * @param patience milliseconds that they have to end by themselves; then they are killed
 */
export async function endGroup(child: ChildProcess, patience: number): Promise<void> {
  signalGroup(child, 'SIGTERM');
  if (!(await isGoneWithin(child, patience))) {
    signalGroup(child, 'SIGKILL');
    await isGoneWithin(child, KILLED_MILLISECONDS);
  }
  disown(child);
}

async function isGoneWithin(child: ChildProcess, milliseconds: number): Promise<boolean> {
  const until = performance.now() + milliseconds;
  while (signalGroup(child, 0)) {
    if (performance.now() > until) {
      return false;
    }
    await delay(LOOK_EVERY_MILLISECONDS);
  }
  return true;
}

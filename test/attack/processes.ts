/** Processes below one of ours, and an attacker that ends them. Linux only: elsewhere there are none to be found. */
import { readdirSync, readFileSync } from 'node:fs';

export interface Process {
  readonly pid: number;
  readonly line: string;
}

const reading = <Result>(work: () => Result, otherwise: Result): Result => {
  try {
    return work();
  } catch {
    // It has just ended.
    return otherwise;
  }
};

/** The living processes below one, each after its parent. */
export function below(pid: number): readonly Process[] {
  const threads = reading(() => readdirSync(`/proc/${String(pid)}/task`), []);
  const children = threads.flatMap((thread) =>
    reading(
      () =>
        readFileSync(`/proc/${String(pid)}/task/${thread}/children`, 'latin1')
          .trim()
          .split(' ')
          .filter(Boolean)
          .map(Number),
      [],
    ),
  );
  return children.flatMap((child) => [
    {
      pid: child,
      line: reading(() => readFileSync(`/proc/${String(child)}/cmdline`, 'latin1').replaceAll('\0', ' '), ''),
    },
    ...below(child),
  ]);
}

/** Whether a process is a sandbox: the bundled interpreter's, or one of the keeper's. */
export const isSandbox = ({ line }: Process): boolean => /\/sandbox\.(?:ts|mjs) |GUARD|class Guard/.test(line);

const LOOK_EVERY = 4;

/** Ends processes below one for as long as it is let. */
export class Killer {
  /** How many it has ended. */
  kills = 0;
  private readonly timer: NodeJS.Timeout;

  /** @param choose the processes to end, of all that are below `pid` now; called every few milliseconds */
  constructor(pid: number, choose: (sandboxes: readonly Process[], milliseconds: number) => readonly Process[]) {
    const began = performance.now();
    this.timer = setInterval(() => {
      for (const victim of choose(below(pid).filter(isSandbox), performance.now() - began)) {
        try {
          process.kill(victim.pid, 'SIGKILL');
          this.kills++;
        } catch {
          // It was faster.
        }
      }
    }, LOOK_EVERY);
  }

  stop(): void {
    clearInterval(this.timer);
  }
}

/** An attacker that ends the sandboxes below one of our processes. Linux only: elsewhere there are none to be found. */

import { listProcessesBelow, type Process } from '../support/processes.ts';

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
      for (const victim of choose(listProcessesBelow(pid).filter(isSandbox), performance.now() - began)) {
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

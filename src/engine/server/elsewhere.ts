/** Cancels runs of other processes on this machine, such as the command line. */

import { hostname } from 'node:os';
import { lockHolder } from '../../store/files/lock.ts';

/**
 * Interrupts the process that executes a run of this store, like Ctrl+C in its terminal.
 * @returns true if there was such a process
 */
export function cancelElsewhere(store: string, run: string): boolean {
  const holder = lockHolder(store);
  if (
    holder?.purpose?.kind !== 'run' ||
    holder.purpose.what !== run ||
    holder.host !== hostname() ||
    holder.pid === process.pid
  ) {
    return false;
  }
  process.kill(holder.pid, 'SIGINT');
  return true;
}

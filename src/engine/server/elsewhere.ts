/** A run that another process of this machine runs, on the command line for example. */
import { hostname } from 'node:os';
import { lockHolder } from '../../store/files/lock.ts';

/**
 * Interrupts the process that runs a run of this store, as Ctrl+C in its terminal does.
 * @returns whether there was one
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

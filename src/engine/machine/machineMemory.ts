/** How much memory a run may take here: of this process's machine or container, and of its accelerator. */
import { totalmem } from 'node:os';
import { runOwned } from '../../files/runOwned.ts';
import type { AvailableMemory } from '../../runtime/memoryPlan.ts';
import { NEVER } from '../../shared/cancellation.ts';
import { traitsOf, type Provider } from '../../shared/devices.ts';

/** Left to everything else: a share of the machine, and at least this much. */
const RESERVED_SHARE = 0.05;
const RESERVED = 256e6;
/** The driver's program answers at once or not at all, in milliseconds. */
const TIME_LIMIT = 2000;
/** Characters of its answer: a line for each device. */
const MOST_SAID = 4096;
const MEBIBYTE = 2 ** 20;
const GIGABYTE = 1e9;

/**
 * What there is for a run: on the host what is free, this process's own included, less a reserve; on an accelerator
 * what it has, where NVIDIA's program says.
 * @param limit bytes that the user allows, in the place of what there is where the work is done; null for no such limit
 */
export async function availableMemory(provider: Provider, limit: number | null): Promise<AvailableMemory> {
  const host = freeMemory();
  const { accelerator, memoryProgram } = traitsOf({ provider });
  if (!accelerator) {
    return { host: limit ?? host, device: null };
  }
  return { host, device: limit ?? (memoryProgram === null ? null : await deviceTotal(memoryProgram)) };
}

/** The limit that a configuration sets, in bytes; null where it sets none. */
export const memoryLimit = ({ limit_gb: limit }: { readonly limit_gb: number | null }): number | null =>
  limit === null ? null : limit * GIGABYTE;

function freeMemory(): number {
  // Both know a container's limit.
  const constrained = process.constrainedMemory();
  const machine = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  const free = process.availableMemory() + process.memoryUsage.rss();
  return Math.max(0, Math.min(free, machine) - Math.max(RESERVED, RESERVED_SHARE * machine));
}

/**
 * Total memory of the first NVIDIA device in bytes; null where its program is not there or does not answer. @param
 * program NVIDIA's, or one that answers as it does
 */
export async function deviceTotal(program: string): Promise<number | null> {
  const { end, stdout } = await runOwned(
    {
      command: [program, '--query-gpu=memory.total', '--format=csv,noheader,nounits'],
      env: process.env,
      milliseconds: TIME_LIMIT,
      most: MOST_SAID,
    },
    NEVER,
  );
  const hasAnswered = end.kind === 'exit' && end.code === 0 && /^\s*\d+/.test(stdout);
  return (hasAnswered && Number.parseInt(stdout, 10) * MEBIBYTE) || null;
}

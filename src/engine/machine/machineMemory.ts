/** Finds the memory that a run may use: of this machine or container, and of its accelerator. */

import { totalmem } from 'node:os';
import { runOwned } from '../../files/runOwned.ts';
import type { AvailableMemory } from '../../runtime/memoryPlan.ts';
import { NEVER } from '../../shared/cancellation.ts';
import { findTraits, type Provider } from '../../shared/devices.ts';

/** Memory that is left to other programs: this share of the machine, and at least this number of bytes. */
const RESERVED_SHARE = 0.05;
const MIN_RESERVED_BYTES = 256e6;
/** Milliseconds for an answer of the driver's program. */
const TIME_LIMIT = 2000;
/** Maximum characters of its answer, which has a line for each device. */
const MAX_PROGRAM_OUTPUT = 4096;
const MEBIBYTE = 2 ** 20;
const GIGABYTE = 1e9;

/**
 * Returns the memory for a run, in bytes. On the host: the free memory and this process's own, less a
 * reserve. On an accelerator: its total memory, if NVIDIA's program reports it.
 * @param limit bytes that the user allows; replaces the measured memory of the device that computes, unless null
 */
export async function findAvailableMemory(provider: Provider, limit: number | null): Promise<AvailableMemory> {
  const host = findFreeMemory();
  const { accelerator, memoryProgram } = findTraits({ provider });
  if (!accelerator) {
    return { host: limit ?? host, device: null };
  }
  return { host, device: limit ?? (memoryProgram === null ? null : await readDeviceMemory(memoryProgram)) };
}

/** Returns the limit that a configuration sets, in bytes, or null. */
export const toMemoryLimit = ({ limit_gb: limit }: { readonly limit_gb: number | null }): number | null =>
  limit === null ? null : limit * GIGABYTE;

function findFreeMemory(): number {
  // Both respect the limit of a container.
  const constrained = process.constrainedMemory();
  const machine = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  const free = process.availableMemory() + process.memoryUsage.rss();
  return Math.max(0, Math.min(free, machine) - Math.max(MIN_RESERVED_BYTES, RESERVED_SHARE * machine));
}

/**
 * Returns the total memory of the first NVIDIA device in bytes, or null if its program is missing or
 * does not answer.
 * @param program NVIDIA's, or one with the same output
 */
export async function readDeviceMemory(program: string): Promise<number | null> {
  const { end, stdout } = await runOwned(
    {
      command: [program, '--query-gpu=memory.total', '--format=csv,noheader,nounits'],
      env: process.env,
      milliseconds: TIME_LIMIT,
      most: MAX_PROGRAM_OUTPUT,
    },
    NEVER,
  );
  const hasAnswered = end.kind === 'exit' && end.code === 0 && /^\s*\d+/.test(stdout);
  return (hasAnswered && Number.parseInt(stdout, 10) * MEBIBYTE) || null;
}

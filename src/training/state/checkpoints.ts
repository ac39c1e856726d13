/** The files of a run's weights: snapshots by the hash of their weights, checkpoints by run and iteration. */
import { createHash } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunConfig } from '../config/config.ts';

/** The newest checkpoints, which stay for a resume: the second is for the case that the first is damaged. */
const KEPT_CHECKPOINTS = 2;

/** Where the weights of a snapshot are kept. */
export const snapshotFile = (folder: string, snapshot: string): string => join(folder, `${snapshot}.safetensors`);

/** Names of files hold no run's id: an id may come from a store that someone else made. */
const nameOf = (run: string): string => createHash('sha256').update(run).digest('hex').slice(0, 16);

const prefixOf = (run: string): string => `checkpoint-${nameOf(run)}-`;
const valueHeadPrefix = (run: string): string => `value-head-${nameOf(run)}-`;

/**
 * Where the value head that a run had after an iteration is kept: two runs, and two iterations, may have the same
 * weights under different heads.
 */
export const valueHeadFile = (folder: string, run: string, iteration: number): string =>
  join(folder, `${valueHeadPrefix(run)}${iteration}.safetensors`);

/** Where the training state after an iteration is kept. */
export const checkpointFile = (folder: string, run: string, iteration: number): string =>
  join(folder, `${prefixOf(run)}${iteration}.safetensors`);

/** The iterations after which a run has a checkpoint, the newest first. */
export async function checkpointsOf(folder: string, run: string): Promise<number[]> {
  const prefix = prefixOf(run);
  return (await namesIn(folder))
    .flatMap((name) =>
      name.startsWith(prefix) ? [/^(\d{1,9})\.safetensors$/.exec(name.slice(prefix.length))?.[1]] : [],
    )
    .flatMap((iteration) => (iteration === undefined ? [] : [Number(iteration)]))
    .sort((a, b) => b - a);
}

/**
 * Removes the checkpoints that neither a resume nor a rebuild needs: the newest two stay, and where not every snapshot
 * is kept the first one of each stretch between two that are.
 */
export async function removeOldCheckpoints(
  folder: string,
  run: string,
  { checkpoint_every: every, snapshot_every: stretch }: Pick<RunConfig, 'checkpoint_every' | 'snapshot_every'>,
): Promise<void> {
  const firstOfStretch = (iteration: number): boolean =>
    Math.floor(iteration / stretch) > Math.floor((iteration - every) / stretch);
  for (const iteration of (await checkpointsOf(folder, run)).slice(KEPT_CHECKPOINTS)) {
    if (stretch === 1 || !firstOfStretch(iteration)) {
      await rm(checkpointFile(folder, run, iteration), { force: true });
    }
  }
}

/**
 * Removes what is kept of a run that is deleted.
 * @param weights hashes of those that no other run has
 * @returns the bytes that are free now
 */
export async function removeRunFiles(folder: string, run: string, weights: readonly string[]): Promise<number> {
  const snapshots = new Set(weights.map((hash) => snapshotFile('', hash)));
  const prefixes = [prefixOf(run), valueHeadPrefix(run)];
  let bytes = 0;
  for (const name of await namesIn(folder)) {
    if (snapshots.has(name) || prefixes.some((prefix) => name.startsWith(prefix))) {
      const file = join(folder, name);
      bytes += (await stat(file)).size;
      await rm(file, { force: true });
    }
  }
  return bytes;
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch {
    return [];
  }
}

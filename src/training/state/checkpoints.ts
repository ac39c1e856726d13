/** Files of a run's weights: snapshots by their hash, checkpoints by run and iteration. */

import { createHash } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunConfig } from '../config/config.ts';

/** The number of newest checkpoints kept for a resume; the second one is used if the first is damaged. */
const KEPT_CHECKPOINTS = 2;

export const snapshotPath = (folder: string, snapshot: string): string => join(folder, `${snapshot}.safetensors`);

/** Names contain a hash of the run's id, because the id may come from someone else's store. */
const hashRunName = (run: string): string => createHash('sha256').update(run).digest('hex').slice(0, 16);

const checkpointPrefix = (run: string): string => `checkpoint-${hashRunName(run)}-`;
const valueHeadPrefix = (run: string): string => `value-head-${hashRunName(run)}-`;

/**
 * Returns the path of a run's value head after an iteration. It is named by run and iteration because
 * equal weights can have different heads.
 */
export const valueHeadPath = (folder: string, run: string, iteration: number): string =>
  join(folder, `${valueHeadPrefix(run)}${iteration}.safetensors`);

/** Returns the path of the training state after an iteration. */
export const checkpointPath = (folder: string, run: string, iteration: number): string =>
  join(folder, `${checkpointPrefix(run)}${iteration}.safetensors`);

/** Returns the iterations after which a run has a checkpoint, the newest first. */
export async function listCheckpoints(folder: string, run: string): Promise<number[]> {
  const prefix = checkpointPrefix(run);
  return (await listFolderNames(folder))
    .flatMap((name) =>
      name.startsWith(prefix) ? [/^(\d{1,9})\.safetensors$/.exec(name.slice(prefix.length))?.[1]] : [],
    )
    .flatMap((iteration) => (iteration === undefined ? [] : [Number(iteration)]))
    .sort((a, b) => b - a);
}

/**
 * Removes the checkpoints that neither a resume nor a rebuild needs. The newest two stay. If not every
 * snapshot is kept, the first checkpoint between two kept snapshots stays too.
 */
export async function removeOldCheckpoints(
  folder: string,
  run: string,
  { checkpoint_every: every, snapshot_every: stretch }: Pick<RunConfig, 'checkpoint_every' | 'snapshot_every'>,
): Promise<void> {
  const firstOfStretch = (iteration: number): boolean =>
    Math.floor(iteration / stretch) > Math.floor((iteration - every) / stretch);
  for (const iteration of (await listCheckpoints(folder, run)).slice(KEPT_CHECKPOINTS)) {
    if (stretch === 1 || !firstOfStretch(iteration)) {
      await rm(checkpointPath(folder, run, iteration), { force: true });
    }
  }
}

/**
 * Removes the files of a run that is deleted.
 * @param weights hashes of the weights that no other run has
 * @returns the number of bytes freed
 */
export async function removeRunFiles(folder: string, run: string, weights: readonly string[]): Promise<number> {
  const snapshots = new Set(weights.map((hash) => snapshotPath('', hash)));
  const prefixes = [checkpointPrefix(run), valueHeadPrefix(run)];
  let bytes = 0;
  for (const name of await listFolderNames(folder)) {
    if (snapshots.has(name) || prefixes.some((prefix) => name.startsWith(prefix))) {
      const file = join(folder, name);
      bytes += (await stat(file)).size;
      await rm(file, { force: true });
    }
  }
  return bytes;
}

async function listFolderNames(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch {
    return [];
  }
}

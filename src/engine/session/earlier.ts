/** Finds snapshots of earlier runs, with which other runs begin or which answer for their roles. */

import { existsSync } from 'node:fs';
import { C3Error } from '../../shared/errors.ts';
import { parseRecipe, type StoredRecipe } from '../recipe/recipe.ts';
import { findSnapshotNamed } from './continuation.ts';
import type { Engine } from './session.ts';
import type { StoreWork } from './storeWork.ts';

/** A snapshot of an earlier run in the store. */
export interface EarlierSnapshot {
  readonly run: string;
  readonly snapshot: string;
  readonly recipe: StoredRecipe;
}

/** Finds a snapshot by its run and a name. @throws C3Error if the store has no such run or snapshot */
export type FindSnapshot = (run: string, name: string) => EarlierSnapshot;

/**
 * Finds snapshots in the store of an engine.
 * @throws C3Error('input') if it has no such run or snapshot
 */
export const createSnapshotFinder =
  (work: StoreWork): FindSnapshot =>
  (run, name) => {
    const { storePath } = work;
    if (!existsSync(storePath)) {
      throw new C3Error('input', `There is no run ${run} in the store ${storePath}, which is new; name a run of it.`);
    }
    return work.reading((store) => ({
      run,
      snapshot: findSnapshotNamed(store, run, name),
      recipe: parseRecipe(store.runConfig(run), run),
    }));
  };

/** Returns the weights file of an earlier snapshot. @throws as Weights.file */
export const findEarlierFile = (
  { work, weights }: Engine,
  { run, recipe, snapshot }: EarlierSnapshot,
  signal: AbortSignal,
): Promise<string | null> => weights.file({ store: work.writer(), run, recipe, snapshot, signal });

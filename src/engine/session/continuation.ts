/** Finds what continues a replay: a snapshot of the run by its name, or another model. */

import { LAST_SNAPSHOT, parseStepName } from '../../domain/replay.ts';
import { OTHER_MODEL } from '../../domain/snapshot.ts';
import { C3Error } from '../../shared/errors.ts';
import type { StoreReader, StoreWriter } from '../../store/types.ts';
import { findSnapshotAfter } from '../../training/state/restore.ts';
import type { StoredRecipe } from '../recipe/recipe.ts';

/**
 * Finds the snapshot of a run by a step or by the beginning of its hash.
 * @throws C3Error('input') if there is none, or more than one
 */
export function findSnapshotNamed(store: StoreReader, run: string, name: string): string {
  if (name === LAST_SNAPSHOT) {
    return findSnapshotAfter(store, run, store.run(run).steps).id;
  }
  const step = parseStepName(name);
  if (step !== null) {
    const { steps } = store.run(run);
    if (step > steps) {
      throw new C3Error('input', `Run ${run} has ${steps} steps; snapshot ${name} is not one of them.`);
    }
    return findSnapshotAfter(store, run, step).id;
  }
  const found = store.snapshotsOfRun(run).filter(({ id }) => id.startsWith(name));
  const [only] = found;
  if (only === undefined) {
    throw new C3Error(
      'input',
      `Run ${run} has no snapshot ${name.slice(0, 12)}; give a step of the run, or the first digits of one of its snapshots.`,
    );
  }
  if (found.length > 1) {
    throw new C3Error(
      'input',
      `Run ${run} has ${found.length} snapshots that begin with ${name}; give more of its digits.`,
    );
  }
  return only.id;
}

/** Returns the folder of another model's snapshot, or null for a snapshot of the run itself. */
export function findOtherModel(store: StoreReader, run: string, snapshot: string): string | null {
  const record = store.snapshots(snapshot).find((one) => one.run === run);
  return record?.iteration === OTHER_MODEL ? record.base : null;
}

/** Returns the recipe with another model. Everything else stays, including the bytes of the contexts. */
export const withModelFolder = (recipe: StoredRecipe, modelFolder: string): StoredRecipe => ({
  ...recipe,
  modelFolder,
});

/** Stores that another model continues replays, unless the run already has its weights. */
export function storeOtherModel(store: StoreWriter, run: string, snapshot: string, folder: string): void {
  if (store.snapshots(snapshot).every((record) => record.run !== run)) {
    store.insertSnapshot({ id: snapshot, run, iteration: OTHER_MODEL, base: folder, file: null });
  }
}

/** Returns the reason why a replay continued by another model cannot be repeated. */
export const describeMissingModel = (folder: string, snapshot: string, why: string): string =>
  `This replay was continued with another model, ${folder} with the weights ${snapshot.slice(0, 12)}, which has changed or is missing: ${why}`;

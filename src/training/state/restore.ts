/** Restores weights of a run from the nearest checkpoint, by executing optimizer steps again. */

import type { Snapshot } from '../../domain/snapshot.ts';
import { C3Error } from '../../shared/errors.ts';
import type { Stage, StoreReader } from '../../store/types.ts';
import { getRunAdapter } from '../config/config.ts';
import { learnStep, type LearnInput } from '../learn.ts';
import { checkpointPath, listCheckpoints } from './checkpoints.ts';

export interface RestoreInput extends LearnInput {
  readonly snapshotFolder: string;
  /** Called for every step that is executed again. */
  readonly onStep: (iteration: number) => void;
}

/**
 * Returns the run's record of the weights after an iteration; 0 is the beginning. An iteration that
 * learned nothing has the weights of the one before.
 * @throws C3Error('store') if the run has no snapshot
 */
export function findSnapshotAfter(store: StoreReader, run: string, iteration: number): Snapshot {
  const record = store.snapshotsOfRun(run).findLast((snapshot) => snapshot.iteration <= iteration);
  if (record === undefined) {
    throw new C3Error(
      'store',
      `Run ${run} has no snapshot of its beginning in the store ${store.path}; start a new run.`,
    );
  }
  return record;
}

/**
 * Returns the last iteration after which a run had these weights; 0 if only its beginning had them, or
 * null if the run never had them.
 */
export function findLastIteration(store: StoreReader, run: string, snapshot: string): number | null {
  const records = store.snapshotsOfRun(run);
  const index = records.findIndex(({ id }) => id === snapshot);
  if (index === -1) {
    return null;
  }
  const next = records[index + 1];
  return next === undefined ? store.run(run).steps : next.iteration - 1;
}

/**
 * Brings the runtime's training state to that of the run after a stored iteration. Nothing is sampled
 * or evaluated.
 * @returns the snapshot of these weights, held by the runtime
 * @throws C3Error('model') if the weights are not those that the run had; CancelledError
 */
export async function restoreTraining(input: RestoreInput, iteration: number): Promise<string> {
  const { runtime, store, run, base } = input;
  const start = await loadNearestCheckpoint(input, iteration);
  for (let step = start + 1; step <= iteration; step++) {
    input.onStep(step);
    await learnStep(input, step);
  }
  const snapshot = await runtime.freeze();
  const expected = findSnapshotAfter(store, run, iteration).id;
  if (snapshot === expected) {
    return snapshot;
  }
  if (snapshot !== base) {
    await runtime.releaseSnapshot(snapshot);
  }
  throw makeOtherWeightsError(`Step ${iteration}`, run, snapshot, expected);
}

/**
 * Brings the runtime's training state to that of the run when it sampled a stage.
 * @returns the snapshot of these weights, held by the runtime
 * @throws as `restoreTraining`
 */
export async function restoreStage(input: RestoreInput, { iteration, stage, snapshot }: Stage): Promise<string> {
  const { runtime, base } = input;
  const before = await restoreTraining(input, iteration - 1);
  if (before !== base) {
    await runtime.releaseSnapshot(before);
  }
  input.onStep(iteration);
  await learnStep(input, iteration, { until: stage });
  const found = await runtime.freeze();
  if (found === snapshot) {
    return found;
  }
  if (found !== base) {
    await runtime.releaseSnapshot(found);
  }
  throw makeOtherWeightsError(`What comes before stage ${stage} of step ${iteration}`, input.run, found, snapshot);
}

const makeOtherWeightsError = (what: string, run: string, found: string, expected: string): C3Error =>
  new C3Error(
    'model',
    `${what} of run ${run}, executed again, gave the weights ${found.slice(0, 12)} where ${expected.slice(0, 12)} are stored; use the machine and the version that the run was made with, or start a new run.`,
  );

/**
 * Loads the newest good checkpoint up to an iteration, or begins anew.
 * @returns the iteration of the checkpoint, or 0
 */
async function loadNearestCheckpoint(
  { runtime, store, run, config, protocol, base, snapshotFolder }: RestoreInput,
  iteration: number,
): Promise<number> {
  for (const step of await listCheckpoints(snapshotFolder, run)) {
    if (step > iteration) {
      continue;
    }
    try {
      const snapshot = await runtime.loadCheckpoint(checkpointPath(snapshotFolder, run, step));
      if (snapshot === findSnapshotAfter(store, run, step).id) {
        if (step < iteration && snapshot !== base) {
          await runtime.releaseSnapshot(snapshot);
        }
        return step;
      }
      if (snapshot !== base) {
        await runtime.releaseSnapshot(snapshot);
      }
    } catch (error) {
      // A damaged checkpoint is skipped: an older one, or the beginning, leads to the same weights.
      if (!(error instanceof C3Error && error.kind === 'model')) {
        throw error;
      }
    }
  }
  await runtime.beginTraining(base, getRunAdapter(config, protocol));
  return 0;
}

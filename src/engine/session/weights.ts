/** Provides the weights of stored snapshots: from their file, or by repeating the training. */

import { existsSync } from 'node:fs';
import { WITHIN_STEP } from '../../domain/snapshot.ts';
import type { ModelRuntime } from '../../runtime/modelRuntime.ts';
import { C3Error } from '../../shared/errors.ts';
import type { Stage, StoreReader } from '../../store/read/reader.ts';
import { valuesStates } from '../../training/methods/methods.ts';
import { snapshotPath, valueHeadPath } from '../../training/state/checkpoints.ts';
import { findLastIteration, restoreStage, restoreTraining, findSnapshotAfter } from '../../training/state/restore.ts';
import type { ModelPool, WeightsFinder } from '../models/models.ts';
import { parseRecipeProtocol, type StoredRecipe } from '../recipe/recipe.ts';

/** Returns the step or the stage that trained weights, or null if the run did not train them. */
function findTrainedAt(store: StoreReader, run: string, snapshot: string): number | Stage | null {
  const iteration = store.snapshots(snapshot).find((record) => record.run === run)?.iteration ?? 0;
  if (iteration === WITHIN_STEP) {
    return store.stageOfSnapshot(run, snapshot);
  }
  return iteration > 0 ? iteration : null;
}

const SNAPSHOT_NAME = /^[0-9a-f]{64}$/;

export interface WeightsRequest {
  readonly store: StoreReader;
  readonly run: string;
  readonly recipe: StoredRecipe;
  readonly snapshot: string;
  readonly signal: AbortSignal;
}

/**
 * Loads the snapshot that a run began with into the runtime: its model's, or a file next to the
 * store.
 * @returns the snapshot, or null if it is neither
 */
export async function loadBeginning(
  runtime: ModelRuntime,
  model: string,
  snapshot: string,
  snapshotFolder: string,
): Promise<string | null> {
  if (snapshot === model) {
    return model;
  }
  const file = snapshotPath(snapshotFolder, snapshot);
  return existsSync(file) && (await runtime.loadSnapshot(file)) === snapshot ? snapshot : null;
}

export class Weights {
  /** Folder of snapshots and checkpoints. */
  readonly folder: string;
  private readonly models: ModelPool;
  /** End of the last rebuild. Each rebuild needs its own runtime, so they run one at a time. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(models: ModelPool, folder: string) {
    this.models = models;
    this.folder = folder;
  }

  /**
   * Returns the file of a snapshot's weights. Rebuilds it if it was not kept or is missing.
   * @returns null if the weights were not trained by a run of the store: a run began with them, or
   *   they are another model's
   * @throws C3Error('model') if they cannot be rebuilt exactly; CancelledError
   */
  async file(request: WeightsRequest): Promise<string | null> {
    const kept = this.kept(request);
    if (kept !== null) {
      return kept;
    }
    const { store, run, snapshot } = request;
    const moment = findTrainedAt(store, run, snapshot);
    if (moment === null || !SNAPSHOT_NAME.test(snapshot)) {
      return null;
    }
    return this.inTurn(async () => this.kept(request) ?? this.rebuild(request, moment));
  }

  /**
   * Returns the file of the value head that belongs to a snapshot of a run, the last one if several
   * steps had the same weights. Rebuilds it if it is missing.
   * @returns null if the run began with these weights, so that the head is untrained
   * @throws C3Error('model') if it cannot be rebuilt exactly, or no step of the run ended with the
   *   weights; CancelledError
   */
  async valueHead(request: WeightsRequest): Promise<string | null> {
    const { store, run, snapshot } = request;
    const iteration = findLastIteration(store, run, snapshot);
    if (iteration === null) {
      throw new C3Error(
        'model',
        `No step of run ${run} ended with the snapshot ${snapshot.slice(0, 12)}, so it has no value head; diagnose messages of a snapshot at the end of a step, such as those of a sampled evaluation.`,
      );
    }
    if (iteration === 0) {
      return null;
    }
    const file = valueHeadPath(this.folder, run, iteration);
    if (!existsSync(file)) {
      await this.inTurn(async () => {
        if (!existsSync(file)) {
          await this.rebuild(request, iteration);
        }
      });
    }
    return file;
  }

  private inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.last.then(work);
    this.last = turn.catch(() => undefined);
    return turn;
  }

  /** Returns a function that finds the weights of a run's snapshots. @throws as `file` */
  finder(run: Omit<WeightsRequest, 'snapshot'>): WeightsFinder {
    return (snapshot) => this.file({ ...run, snapshot });
  }

  /** Returns true if a snapshot's weights are available without rebuilding them. */
  areKept(store: StoreReader, run: string, snapshot: string): boolean {
    return this.kept({ store, snapshot }) !== null || findTrainedAt(store, run, snapshot) === null;
  }

  /** Returns the weights file of a snapshot next to the store, or null if it does not exist. */
  keptFile(snapshot: string): string | null {
    const file = SNAPSHOT_NAME.test(snapshot) ? snapshotPath(this.folder, snapshot) : null;
    return file !== null && existsSync(file) ? file : null;
  }

  private kept({ store, snapshot }: Pick<WeightsRequest, 'store' | 'snapshot'>): string | null {
    const recorded = store.snapshots(snapshot).flatMap(({ file }) => file ?? []);
    // Stored paths are wrong after a workspace has moved, and rebuilt weights have no stored path.
    return recorded.find((file) => existsSync(file)) ?? this.keptFile(snapshot);
  }

  /**
   * Writes the weights of a moment: after an iteration, with the value head if the method has one,
   * or those that sampled a stage.
   * @returns the file of the weights
   */
  private async rebuild({ store, run, recipe, signal }: WeightsRequest, moment: number | Stage): Promise<string> {
    await using model = await this.models.takeAlone(recipe);
    const { runtime, tokenizer, info } = model;
    const base = await loadBeginning(runtime, info.snapshot, findSnapshotAfter(store, run, 0).id, this.folder);
    if (base === null) {
      throw new C3Error(
        'model',
        `${recipe.modelFolder} no longer holds the model that run ${run} began with; put its weights back.`,
      );
    }
    const input = {
      run,
      config: recipe.config,
      protocol: parseRecipeProtocol(recipe),
      render: this.models.texts.renderer(recipe.modelFolder, recipe.rendering, signal),
      maxPositions: info.config.maxPositions,
      store,
      runtime,
      tokenizer,
      base,
      snapshotFolder: this.folder,
      signal,
      onStep: () => undefined,
    };
    const rebuilt =
      typeof moment === 'number' ? await restoreTraining(input, moment) : await restoreStage(input, moment);
    const file = snapshotPath(this.folder, rebuilt);
    if (rebuilt !== base && !existsSync(file)) {
      await runtime.saveSnapshot(rebuilt, file);
    }
    if (typeof moment === 'number' && valuesStates(recipe.config)) {
      await runtime.saveValueHead(rebuilt, valueHeadPath(this.folder, run, moment));
    }
    return file;
  }
}

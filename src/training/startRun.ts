/** Starts a run, resumes an interrupted one, and records its end in the run's row. */

import type { RunStatus, RunSummary } from '../domain/run.ts';
import { EvaluatorLost } from '../evaluate/evaluator.ts';
import { C3Error, CancelledError } from '../shared/errors.ts';
import type { StoreWriter } from '../store/types.ts';
import type { RunConfig } from './config/config.ts';
import { findSamplingFault } from './iteration.ts';
import { getMethod } from './methods/methods.ts';
import { listRunProblems } from './room.ts';
import { Run } from './run.ts';
import type { RunControl, RunDependencies } from './runContext.ts';
import { requireOwnStates } from './state/methodStates.ts';
import { findSnapshotAfter } from './state/restore.ts';

/**
 * Starts a run and takes it to its end. The run's row ends as done, cancelled or failed, or as
 * interrupted if the evaluator was lost; everything stored before stays.
 * @throws CancelledError; EvaluatorLost; C3Error, before anything is stored if the configuration or
 *   the problems do not fit
 */
export async function runTraining(
  id: string,
  config: RunConfig,
  dependencies: RunDependencies,
  control: RunControl,
): Promise<RunSummary> {
  const { store, now, base } = dependencies;
  const fault = findSamplingFault(config, dependencies.protocol, dependencies.method);
  if (fault !== null) {
    throw new C3Error('input', fault);
  }
  store.transaction(() => {
    store.insertRun({
      id,
      method: config.method,
      seed: config.seed,
      title: config.title,
      config: dependencies.recipe,
      plannedSteps: config.steps,
      createdAt: now(),
    });
    store.insertSnapshot({ id: base, run: id, iteration: 0, base: dependencies.modelFolder, file: null });
    store.insertProblems(listRunProblems(config, dependencies));
  });
  dependencies.onStored?.(id);
  return executeToEnd(id, config, dependencies, control);
}

/**
 * Takes an interrupted run to its end, with the same weights and rows as without the interruption.
 * Configuration and problems must be those that it began with.
 * @throws CancelledError; C3Error, before anything is changed if the model or the numeric environment
 *   differs from the run's
 */
export async function resumeTraining(
  id: string,
  config: RunConfig,
  dependencies: RunDependencies,
  control: RunControl,
): Promise<RunSummary> {
  const { store, base, modelFolder, runtime } = dependencies;
  if (findSnapshotAfter(store, id, 0).id !== base) {
    throw new C3Error(
      'input',
      `Run ${id} cannot be resumed: the model in ${modelFolder} is no longer the one that it began with; put its weights back, or start a new run.`,
    );
  }
  const here = JSON.stringify(runtime.environment);
  const other = store
    .costs(id)
    .map(({ environment }) => JSON.stringify(store.environment(environment)))
    .find((environment) => environment !== here);
  if (other !== undefined) {
    throw new C3Error(
      'input',
      `Run ${id} cannot be resumed exactly: it was made with ${other} and this is ${here}; resume it there, or start a new run.`,
    );
  }
  requireOwnStates({ store, run: id, method: dependencies.method ?? getMethod(config.method), config });
  store.updateRunStatus(id, 'running', null, null);
  return executeToEnd(id, config, dependencies, control);
}

async function executeToEnd(
  id: string,
  config: RunConfig,
  dependencies: RunDependencies,
  control: RunControl,
): Promise<RunSummary> {
  const { store, now } = dependencies;
  try {
    const summary = await new Run(id, config, dependencies, control).execute();
    store.updateRunStatus(id, 'done', now(), summary);
    return summary;
  } catch (error) {
    if (error instanceof EvaluatorLost) {
      // Ends without a time, as if the process had been ended, because the run counts as interrupted.
      recordRunEnd(store, id, 'failed', null);
      const { steps } = store.run(id);
      throw new EvaluatorLost(
        `Run ${id} was interrupted at step ${steps} of ${config.steps}: ${dropFinalStop(error.message)}. What is stored stays; resume it when ${error.until}.`,
        error.until,
      );
    }
    recordRunEnd(store, id, error instanceof CancelledError ? 'cancelled' : 'failed', now());
    throw error;
  }
}

const dropFinalStop = (sentence: string): string => sentence.replace(/\.$/, '');

/**
 * Records the end of a run. A store that failed may refuse this too; the error that ended the run is
 * then still the one to report.
 */
function recordRunEnd(store: StoreWriter, id: string, status: RunStatus, at: string | null): void {
  try {
    store.updateRunStatus(id, status, at, null);
  } catch {
    // The next writer finds the run without an owner and marks it.
  }
}

/**
 * A run on this machine: what it needs is loaded and checked before anything is stored, then it is trained to its end.
 */
import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import { evaluatorKind } from '../../evaluate/kinds.ts';
import { PRIVATE_FOLDER } from '../../files/newFile.ts';
import { checkRendering, readRendering } from '../../policy/rendering.ts';
import { C3Error } from '../../shared/errors.ts';
import type { RunSummary } from '../../shared/records/records.ts';
import { runSampling } from '../../training/config.ts';
import { checkScripts, policyRemarks } from '../../training/policies.ts';
import { checkContexts, runInstances } from '../../training/room.ts';
import type { RunControl } from '../../training/runContext.ts';
import { resumeTraining, runTraining } from '../../training/startRun.ts';
import type { Evaluators } from '../recipe/evaluators.ts';
import { changeSince, fingerprintOf } from '../recipe/fingerprint.ts';
import type { LoadedModel, ModelPool } from '../models/models.ts';
import { memoryLine, planHere, shortage } from './plan.ts';
import { loadData, protocolOf, serialiseRecipe, type Recipe, type StoredRecipe } from '../recipe/recipe.ts';
import type { Lease } from './storeHold.ts';
import type { Timing } from './timing.ts';
import { loadingWords } from '../models/loadingWords.ts';

/** A run that is taken to its end. */
export interface Interrupted {
  readonly id: string;
  readonly recipe: StoredRecipe;
}

export interface TrainingPlace {
  readonly models: ModelPool;
  readonly evaluators: Evaluators;
  readonly timing: Timing;
  readonly snapshotFolder: string;
}

/**
 * Loads what a run needs and runs it.
 * @param hold gives the store, held to the end of the run; asked for when all else is there
 * @throws C3Error, before anything is stored where something does not fit; CancelledError
 */
export async function trainHere(
  place: TrainingPlace,
  recipe: Recipe,
  interrupted: Interrupted | null,
  control: RunControl,
  onRemark: (remark: string) => void,
  hold: () => Promise<Lease>,
): Promise<RunSummary> {
  const { models, evaluators, timing, snapshotFolder } = place;
  const data = await loadData(recipe);
  const protocol = protocolOf(recipe);
  const { modelFolder } = recipe;
  const { cancelled } = control;
  const tokenizer = await models.texts.tokenizer(modelFolder, cancelled);
  const rendering = await readRendering(modelFolder, tokenizer, recipe.config.chat);
  const render = models.texts.renderer(
    modelFolder,
    interrupted === null ? rendering : interrupted.recipe.rendering,
    cancelled,
  );
  const fingerprint = await fingerprintOf(recipe, data, rendering);
  if (interrupted === null) {
    await checkRendering(rendering, protocol, render);
  } else {
    const change = await changeSince(interrupted.recipe, fingerprint);
    if (change !== null) {
      throw new C3Error('input', `Run ${interrupted.id} cannot be resumed: ${change}`);
    }
  }
  const unscored = evaluatorKind(recipe.config.evaluator).problem([...data.train, ...data.evaluation]);
  if (unscored !== null) {
    throw new C3Error('input', unscored);
  }
  checkScripts(recipe.config, protocol, runInstances(recipe.config, data));
  const inputs = { protocol, tokenizer, render, data };
  const plan = await planHere(recipe, inputs);
  const short = shortage(plan);
  // A run that has begun was let begin; its configuration can no longer be changed.
  if (short !== null && interrupted === null) {
    throw new C3Error('input', short);
  }
  const work = async (model: LoadedModel, evaluator: Evaluator): Promise<RunSummary> => {
    const { runtime, info, remark } = model;
    if (remark !== null) {
      onRemark(remark);
    }
    const { maxPositions } = info.config;
    if (interrupted === null) {
      await checkContexts(
        {
          protocol,
          policies: recipe.config.policies,
          render,
          tokenizer,
          sampling: runSampling(recipe.config),
          maxPositions,
        },
        runInstances(recipe.config, data),
      );
    }
    const lease = await hold();
    const { store } = lease;
    await mkdir(snapshotFolder, { recursive: true, mode: PRIVATE_FOLDER });
    for (const line of [...data.remarks, ...policyRemarks(recipe.config)]) {
      onRemark(line);
    }
    onRemark(short ?? memoryLine(plan));
    const dependencies = {
      store,
      runtime,
      base: info.snapshot,
      tokenizer,
      protocol,
      render,
      maxPositions,
      evaluator,
      ...data,
      recipe: serialiseRecipe(recipe, fingerprint, rendering),
      modelFolder,
      snapshotFolder,
      clock: () => performance.now() / 1000,
      expected: await timing.announce(
        recipe,
        inputs,
        model,
        interrupted === null ? 0 : store.run(interrupted.id).steps,
        control,
        onRemark,
      ),
      now: () => new Date().toISOString(),
    };
    if (interrupted !== null) {
      return resumeTraining(interrupted.id, recipe.config, dependencies, control);
    }
    const id = `${recipe.config.method}-${String(recipe.config.seed)}-${randomUUID().slice(0, 8)}`;
    lease.describe({ kind: 'run', what: id });
    return runTraining(id, recipe.config, dependencies, control);
  };
  const onProgress = (done: number, total: number): void => {
    control.onProgress({
      run: null,
      stage: 'load',
      done,
      total,
      metrics: null,
      remainingSeconds: null,
      message: loadingWords(done, total),
    });
  };
  return evaluators.using(recipe.config, (evaluator) =>
    models.exclusively(recipe, (model) => work(model, evaluator), { onProgress, cancelled: control.cancelled }),
  );
}

/** The preparation of a run: all that is read and checked before anything is loaded or stored. */
import { evaluatorKind } from '../../evaluate/kinds.ts';
import { checkRendering, readRendering } from '../../policy/rendering.ts';
import { C3Error } from '../../shared/errors.ts';
import { checkScripts, policyRemarks } from '../../training/policies.ts';
import { runInstances } from '../../training/room.ts';
import type { TextPool } from '../models/texts.ts';
import { changeSince, fingerprintOf } from '../recipe/fingerprint.ts';
import { loadData, protocolOf, serialiseRecipe, type Recipe, type StoredRecipe } from '../recipe/recipe.ts';
import { memoryLine, planHere, shortage, type RunInputs } from './plan.ts';

/** A run that is taken to its end. */
export interface Interrupted {
  readonly id: string;
  readonly recipe: StoredRecipe;
}

/** A run that is checked and not begun: nothing of it is stored, and no model is loaded for it. */
export interface PreparedRun extends RunInputs {
  readonly recipe: Recipe;
  /** Null for a run that begins. */
  readonly interrupted: Interrupted | null;
  /** The run's recipe as the store keeps it. */
  readonly stored: string;
  readonly remarks: readonly string[];
}

/**
 * Reads and checks what a run needs: its data, protocol and tokenizer, what would have changed since an interruption,
 * and whether it fits into memory. Reads only.
 * @throws C3Error where something does not fit; CancelledError
 */
export async function prepareRun(
  texts: TextPool,
  recipe: Recipe,
  interrupted: Interrupted | null,
  signal: AbortSignal,
): Promise<PreparedRun> {
  const data = await loadData(recipe);
  const protocol = protocolOf(recipe);
  const { modelFolder } = recipe;
  const tokenizer = await texts.tokenizer(modelFolder, signal);
  const rendering = await readRendering(modelFolder, tokenizer, recipe.config.chat);
  const render = texts.renderer(modelFolder, interrupted === null ? rendering : interrupted.recipe.rendering, signal);
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
  return {
    ...inputs,
    recipe,
    interrupted,
    stored: serialiseRecipe(recipe, fingerprint, rendering),
    remarks: [...data.remarks, ...policyRemarks(recipe.config), short ?? memoryLine(plan)],
  };
}

/** Prepares a run: reads and checks everything before anything is loaded or stored. */

import type { JudgeAgreement, Replacement } from '../../domain/run.ts';
import { getEvaluatorKind } from '../../evaluate/kinds.ts';
import { checkRendering, readRendering } from '../../policy/rendering.ts';
import { C3Error } from '../../shared/errors.ts';
import { createTeamRenderer } from '../../team/render.ts';
import { checkScripts, listPolicyRemarks } from '../../training/policies.ts';
import { listRunProblems } from '../../training/room.ts';
import { createEndpointRenderers, type EndpointProbes } from '../models/endpoints.ts';
import { describeChange, computeFingerprint } from '../recipe/fingerprint.ts';
import {
  loadData,
  parseRecipeProtocol,
  serializeRecipe,
  type Recipe,
  type RoleWeights,
  type StoredRecipe,
} from '../recipe/recipe.ts';
import { formatMemoryLine, planRunMemory, describeShortage } from './plan.ts';
import { prepareBeginning, type PreparedBeginning } from './prepareBeginning.ts';
import { prepareRoles, listRoleRenderers, type PreparedRole, type RunSources } from './prepareRoles.ts';
import type { RunInputs } from './runDemand.ts';

/** A stored run that is resumed. */
export interface Interrupted {
  readonly id: string;
  readonly recipe: StoredRecipe;
}

/** A run that is checked but has not begun. Nothing is stored and no model is loaded. */
export interface PreparedRun extends RunInputs {
  readonly recipe: Recipe;
  /** Null for a new run. */
  readonly interrupted: Interrupted | null;
  /** Serializes the recipe for the store. @param roles weights of roles, which are known once loaded */
  readonly stored: (
    roles: Readonly<Record<string, RoleWeights>>,
    endpoints?: EndpointProbes,
    replacement?: Replacement | null,
    agreement?: JudgeAgreement | null,
  ) => string;
  readonly roles: readonly PreparedRole[];
  /** Earlier run whose team it begins with; null if it begins with its model. */
  readonly beginning: PreparedBeginning | null;
  readonly remarks: readonly string[];
  /** Most bytes of the key-value cache of a call. */
  readonly cacheBytes: number;
}

/**
 * Reads and checks the inputs of a run: its data, protocol and tokenizer, changes since an
 * interruption, and the memory that it needs. Writes nothing.
 * @throws C3Error if a check fails; CancelledError
 */
export async function prepareRun(
  { texts, earlier: find }: RunSources,
  recipe: Recipe,
  interrupted: Interrupted | null,
  signal: AbortSignal,
): Promise<PreparedRun> {
  const data = await loadData(recipe);
  const protocol = parseRecipeProtocol(recipe);
  const { modelFolder } = recipe;
  const tokenizer = await texts.tokenizer(modelFolder, signal);
  const rendering = await readRendering(modelFolder, tokenizer, recipe.config.chat);
  const own = texts.renderer(modelFolder, interrupted === null ? rendering : interrupted.recipe.rendering, signal);
  const fingerprint = await computeFingerprint(recipe, data, rendering);
  if (interrupted === null) {
    const others = new Set([
      ...createEndpointRenderers(recipe.config.policies).keys(),
      ...Object.entries(recipe.config.policies ?? {}).flatMap(([role, { kind }]) => (kind === 'model' ? [role] : [])),
    ]);
    await checkRendering(rendering, protocol, own, (role) => !others.has(role));
  } else {
    const change = await describeChange(interrupted.recipe, fingerprint);
    if (change !== null) {
      throw new C3Error('input', `Run ${interrupted.id} cannot be resumed: ${change}`);
    }
  }
  const unscored = getEvaluatorKind(recipe.config.evaluator).fault([...data.train, ...data.evaluation]);
  if (unscored !== null) {
    throw new C3Error('input', unscored);
  }
  checkScripts(recipe.config, protocol, listRunProblems(recipe.config, data));
  const stored = interrupted?.recipe ?? null;
  const roles = await prepareRoles(texts, { recipe, protocol, own: fingerprint, find, stored, signal });
  const beginning =
    interrupted === null
      ? await prepareBeginning(recipe, { texts, protocol, fingerprint, rendering, tokenizer, data, find, signal })
      : null;
  const inputs = {
    protocol,
    tokenizer,
    render: createTeamRenderer(
      own,
      new Map([...listRoleRenderers(roles), ...createEndpointRenderers(recipe.config.policies)]),
    ),
    data,
    roles,
  };
  const plan = await planRunMemory(recipe, inputs);
  const short = describeShortage(plan);
  // A resumed run is not refused: it was accepted when it began, and its configuration cannot be changed
  // anymore.
  if (short !== null && interrupted === null) {
    throw new C3Error('input', short);
  }
  return {
    ...inputs,
    recipe,
    interrupted,
    beginning,
    stored: (weights, endpoints, replacement, agreement) =>
      serializeRecipe(recipe, fingerprint, rendering, { roles: weights, endpoints, replacement, agreement }),
    remarks: [
      ...(recipe.notes ?? []),
      ...data.remarks,
      ...listPolicyRemarks(recipe.config),
      short ?? formatMemoryLine(plan),
    ],
    cacheBytes: plan.cacheBytes,
  };
}

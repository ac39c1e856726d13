/** Reads and checks the roles of a run that have their own weights, before anything is loaded. */

import { resolve } from 'node:path';
import { checkRendering, readRendering, type Rendering } from '../../policy/rendering.ts';
import type { Tokenizer } from '../../policy/tokenizer.ts';
import { loadConfig } from '../../runtime/model/model.ts';
import type { TransformerConfig } from '../../runtime/model/transformer.ts';
import { C3Error } from '../../shared/errors.ts';
import { hasWeights, type RoleWeightsSettings } from '../../shared/rolePolicies.ts';
import type { Protocol } from '../../team/protocol.ts';
import type { Renderer } from '../../team/render.ts';
import type { TextPool } from '../models/texts.ts';
import { computeTextsFingerprint } from '../recipe/fingerprint.ts';
import {
  resolveRoleModelFolder,
  findRoleWeights,
  type Fingerprint,
  type Recipe,
  type StoredRecipe,
} from '../recipe/recipe.ts';
import type { EarlierSnapshot, FindSnapshot } from '../session/earlier.ts';

/** The sources for the preparation of a run besides its recipe. */
export interface RunSources {
  readonly texts: TextPool;
  readonly earlier: FindSnapshot;
}

/** The parts of another model that can be read without loading its weights. */
export interface RoleModel {
  readonly tokenizer: Tokenizer;
  readonly render: Renderer;
  readonly config: TransformerConfig;
}

export interface PreparedRole {
  readonly role: string;
  readonly settings: RoleWeightsSettings;
  /** Model folder of the weights. */
  readonly folder: string;
  /** Folder of the adapter, or null. */
  readonly adapter: string | null;
  /** Null for weights that no run of the store trained. */
  readonly earlier: EarlierSnapshot | null;
  readonly texts: Pick<Fingerprint, 'tokenizer' | 'template'>;
  /** Null if contexts are rendered as for the run's own model. */
  readonly rendering: Rendering | null;
  /** Null for weights of the run's own model. */
  readonly model: RoleModel | null;
}

export interface RoleInput {
  readonly recipe: Recipe;
  readonly protocol: Protocol;
  /** Hashes of the run's own tokenizer and template. */
  readonly own: Pick<Fingerprint, 'tokenizer' | 'template'>;
  readonly find: FindSnapshot;
  /** Recipe of the resumed run; null for a new run. */
  readonly stored: StoredRecipe | null;
  readonly signal: AbortSignal;
}

/** @throws C3Error if a folder cannot be used or a snapshot does not exist; CancelledError */
export async function prepareRoles(texts: TextPool, input: RoleInput): Promise<readonly PreparedRole[]> {
  const prepared: PreparedRole[] = [];
  for (const [role, settings] of Object.entries(input.recipe.config.policies ?? {})) {
    if (hasWeights(settings)) {
      prepared.push(await prepareRole(texts, input, role, settings));
    }
  }
  return prepared;
}

async function prepareRole(
  texts: TextPool,
  { recipe, protocol, own, find, stored, signal }: RoleInput,
  role: string,
  settings: RoleWeightsSettings,
): Promise<PreparedRole> {
  const { modelFolder: folder } = recipe;
  const ofOwnModel = { role, settings, folder, adapter: null, earlier: null, texts: own, rendering: null, model: null };
  switch (settings.kind) {
    case 'adapter':
      return { ...ofOwnModel, adapter: resolve(recipe.folder, settings.adapter) };
    case 'snapshot': {
      if (settings.run === undefined) {
        return ofOwnModel;
      }
      // A resumed run keeps the weights that it began with, even if the name now means other weights.
      const known = stored === null ? undefined : findRoleWeights(stored, role);
      const earlier = find(settings.run, known?.snapshot ?? settings.snapshot);
      if (earlier.recipe.fingerprint?.tokenizer !== own.tokenizer) {
        throw new C3Error(
          'input',
          `policies.${role}.run: run ${settings.run} had another tokenizer than ${folder}; name a run of the same model, or write kind: model.`,
        );
      }
      return { ...ofOwnModel, earlier };
    }
    case 'model': {
      const other = resolveRoleModelFolder(recipe, settings.model);
      const config = await loadConfig(other);
      const tokenizer = await texts.tokenizer(other, signal);
      const now = await readRendering(other, tokenizer, recipe.config.chat);
      const known = stored === null ? undefined : findRoleWeights(stored, role);
      const rendering = known?.rendering ?? now;
      const render = texts.renderer(other, rendering, signal);
      const read = await computeTextsFingerprint(other, now);
      if (known === undefined) {
        await checkRendering(rendering, protocol, render, (one) => one === role);
      } else if (known.tokenizer !== read.tokenizer || known.template !== read.template) {
        throw new C3Error(
          'input',
          `The tokenizer or the chat template in ${other}, which answers for the role ${role}, has changed since the run began; put the old one back, or start a new run.`,
        );
      }
      return { ...ofOwnModel, folder: other, texts: read, rendering, model: { tokenizer, render, config } };
    }
  }
}

/** Returns the renderers of roles with other models. @see createTeamRenderer */
export const listRoleRenderers = (roles: readonly PreparedRole[]): ReadonlyMap<string, Renderer> =>
  new Map(roles.flatMap(({ role, model }) => (model === null ? [] : [[role, model.render] as const])));

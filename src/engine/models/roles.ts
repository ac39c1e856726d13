/** Policies and renderers for the roles of a team. */

import type { Policy, RolePolicy } from '../../policy/policy.ts';
import { createTeamRenderer, type Renderer } from '../../team/render.ts';
import type { StoredRecipe } from '../recipe/recipe.ts';
import { createEndpointRenderers } from './endpoints.ts';
import type { LentPolicy } from './models.ts';
import type { TextPool } from './texts.ts';

/** The model of a role with weights of its own. */
export type RoleModel = Pick<LentPolicy, 'policy' | 'runtime' | 'tokenizer' | 'info'>;

/** Models by role. */
export type RoleModels = ReadonlyMap<string, RoleModel>;

/** The policies of a team: `policy` is for the whole team, the rest for the run's own model. */
export interface Team extends LentPolicy {
  /** The run's own model alone, for any role. */
  readonly own: Policy;
  readonly roles: RoleModels;
}

/** Returns the policies of the roles that do not use the run's own model. */
export const mergeRolePolicies = (
  roles: RoleModels,
  endpoints: ReadonlyMap<string, RolePolicy>,
): ReadonlyMap<string, RolePolicy> =>
  new Map<string, RolePolicy>([...[...roles].map(([role, { policy }]) => [role, policy] as const), ...endpoints]);

/** Returns the renderer of a stored run's contexts, each in the form for the model of its role. */
export function createRunRenderer(
  texts: TextPool,
  { modelFolder, rendering, config, roles = {} }: StoredRecipe,
  signal: AbortSignal,
): Renderer {
  const others = Object.entries(roles).flatMap(([role, weights]) =>
    weights.rendering === null ? [] : [[role, texts.renderer(weights.folder, weights.rendering, signal)] as const],
  );
  return createTeamRenderer(
    texts.renderer(modelFolder, rendering, signal),
    new Map([...others, ...createEndpointRenderers(config.policies)]),
  );
}

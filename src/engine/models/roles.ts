/** What answers for the roles of a team, and what writes what they read. */
import type { Policy, RolePolicy } from '../../policy/policy.ts';
import { teamRenderer, type Renderer } from '../../team/render.ts';
import type { StoredRecipe } from '../recipe/recipe.ts';
import { endpointRenderers } from './endpoints.ts';
import type { LentPolicy } from './models.ts';
import type { TextPool } from './texts.ts';

/** The model of a role with weights of its own. */
export type RoleModel = Pick<LentPolicy, 'policy' | 'runtime' | 'tokenizer' | 'info'>;

/** By role. */
export type RoleModels = ReadonlyMap<string, RoleModel>;

/** What answers for a team: the policy is the whole team's, the rest is of the run's own model. */
export interface Team extends LentPolicy {
  /** The run's own model alone, which answers for any role. */
  readonly own: Policy;
  readonly roles: RoleModels;
}

/** What answers for each role that the run's own model does not answer for. */
export const rolePolicies = (
  roles: RoleModels,
  endpoints: ReadonlyMap<string, RolePolicy>,
): ReadonlyMap<string, RolePolicy> =>
  new Map<string, RolePolicy>([...[...roles].map(([role, { policy }]) => [role, policy] as const), ...endpoints]);

/** What writes the contexts of a stored run, each as the model of its role reads it. */
export function runRenderer(
  texts: TextPool,
  { modelFolder, rendering, config, roles = {} }: StoredRecipe,
  signal: AbortSignal,
): Renderer {
  const others = Object.entries(roles).flatMap(([role, weights]) =>
    weights.rendering === null ? [] : [[role, texts.renderer(weights.folder, weights.rendering, signal)] as const],
  );
  return teamRenderer(
    texts.renderer(modelFolder, rendering, signal),
    new Map([...others, ...endpointRenderers(config.policies)]),
  );
}

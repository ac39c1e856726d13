/** Lends what answers for the roles of a team that have weights of their own, all of it together. */
import type { RolePolicy } from '../../policy/policy.ts';
import { teamPolicy } from '../../policy/teamPolicy.ts';
import type { RolePolicies } from '../../shared/rolePolicies.ts';
import { teamRenderer, type Renderer } from '../../team/render.ts';
import type { StoredRecipe } from '../recipe/recipe.ts';
import { endpointRenderers } from './endpoints.ts';
import type { LentPolicy } from './models.ts';
import type { TextPool } from './texts.ts';

/** By role. */
export type LentRoles = ReadonlyMap<string, LentPolicy>;

/** A team on loan: the policy is the whole team's, the rest is of the run's own model. */
export interface LentTeam extends LentPolicy {
  readonly roles: LentRoles;
}

/** Lends the weights of one role to a piece of work, or one sentence why they cannot be had. */
export type RoleLender = <Result>(work: (lent: LentPolicy | string) => Promise<Result>) => Promise<Result>;

/** Works with all roles, or with the first sentence that says why one cannot be had. */
export async function withRoles<Result>(
  lenders: readonly (readonly [role: string, lend: RoleLender])[],
  work: (lent: LentRoles | string) => Promise<Result>,
  lent: LentRoles = new Map(),
): Promise<Result> {
  const [first, ...rest] = lenders;
  if (first === undefined) {
    return work(lent);
  }
  const [role, lend] = first;
  return lend((one) => (typeof one === 'string' ? work(one) : withRoles(rest, work, new Map([...lent, [role, one]]))));
}

/** A model on loan with what answers for the other roles. */
export function teamOf(
  own: LentPolicy,
  roles: LentRoles,
  policies: RolePolicies | undefined,
  endpoints: ReadonlyMap<string, RolePolicy> = new Map(),
): LentTeam {
  const weights = new Map<string, RolePolicy>([
    ...[...roles].map(([role, { policy }]) => [role, policy] as const),
    ...endpoints,
  ]);
  return { ...own, roles, policy: teamPolicy(own.policy, policies, own.tokenizer, weights) };
}

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

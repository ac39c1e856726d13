/** The recipe of a run with a change of its team: who answers for its roles then. */
import type { ServerChange, TeamChange } from '../../domain/trial.ts';
import type { SpendingChoice } from '../../shared/endpointCost.ts';
import { isLocal } from '../../shared/endpointKeys.ts';
import { C3Error } from '../../shared/errors.ts';
import { isServed, type EndpointSettings, type RolePolicies } from '../../shared/rolePolicies.ts';
import { rolePolicySchema } from '../../training/keys/policyKeys.ts';
import type { StoredRecipe } from '../recipe/recipe.ts';

/** The servers that a change names, by the roles that they answer for. */
export type ChangedServers = Readonly<Record<string, EndpointSettings>>;

/**
 * The servers that a change names. Where a server answered for the role before, its limit holds here, too: what is
 * spent is counted by role. Its prices hold for its own model alone.
 * @throws C3Error('input') for what is no server, or no known price under a limit of money
 */
export function changedServers(
  { roles }: TeamChange,
  policies: RolePolicies | undefined,
  spending: SpendingChoice | undefined,
): ChangedServers {
  return Object.fromEntries(
    Object.entries(roles).flatMap(([role, change]) =>
      'endpoint' in change ? [[role, serverOf(role, change, policies, spending)] as const] : [],
    ),
  );
}

function serverOf(
  role: string,
  { endpoint, model_name }: ServerChange,
  policies: RolePolicies = {},
  spending: SpendingChoice = {},
): EndpointSettings {
  const parsed = rolePolicySchema.safeParse({ endpoint, model_name });
  const [issue] = parsed.error?.issues ?? [];
  if (parsed.data?.kind !== 'endpoint') {
    throw new C3Error(
      'input',
      `The server for the role ${role}: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}.`,
    );
  }
  const found = Object.hasOwn(policies, role) ? policies[role] : undefined;
  const before = found !== undefined && isServed(found) ? found : null;
  const limited = { ...parsed.data, ...(before !== null && { spending: before.spending }) };
  const {
    endpoint: [address = ''],
  } = parsed.data;
  if (before?.kind === 'endpoint' && before.endpoint.includes(address) && before.model_name === model_name) {
    return { ...limited, prices: before.prices };
  }
  if ((spending.money ?? limited.spending.money) !== null && !isLocal(endpoint)) {
    throw new C3Error(
      'input',
      `What the server for the role ${role} costs is not known, so that no limit of money holds there; limit tokens instead.`,
    );
  }
  return limited;
}

/** The recipe in which these servers, or the run's own weights, answer for the roles that a change names. */
export function changedRecipe(
  recipe: StoredRecipe,
  { roles: changed }: TeamChange,
  servers: ChangedServers,
): StoredRecipe {
  const { config, roles } = recipe;
  const kept = <Of>(all: Readonly<Record<string, Of>>): Record<string, Of> =>
    Object.fromEntries(Object.entries(all).filter(([role]) => !Object.hasOwn(changed, role)));
  return {
    ...recipe,
    config: { ...config, policies: { ...kept(config.policies ?? {}), ...servers } },
    ...(roles !== undefined && { roles: kept(roles) }),
  };
}

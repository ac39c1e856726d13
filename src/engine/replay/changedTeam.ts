/** Tries a change of a run's own team: prompts, decoding, and who answers for a role. */

import type { Sampling } from '../../domain/message.ts';
import { LAST_SNAPSHOT } from '../../domain/replay.ts';
import {
  findTeamWeights,
  listRolePolicies,
  type ServerChange,
  type TeamChange,
  type Trial,
  type WeightsChange,
} from '../../domain/trial.ts';
import type { EndpointProbe } from '../../policy/endpoint/endpointPolicy.ts';
import { isApiMissing } from '../../policy/endpoint/probe.ts';
import { isPriceKnown } from '../../policy/endpoint/spending.ts';
import type { RolePolicy } from '../../policy/policy.ts';
import { withRolePolicies } from '../../policy/teamPolicy.ts';
import type { Tokenizer } from '../../policy/tokenizer.ts';
import type { SpendingChoice } from '../../shared/endpointCost.ts';
import { isLocal } from '../../shared/endpointKeys.ts';
import { C3Error } from '../../shared/errors.ts';
import { Holds } from '../../shared/holds.ts';
import {
  findCapabilities,
  isServed,
  type EndpointApi,
  type EndpointSettings,
  type RolePolicies,
} from '../../shared/rolePolicies.ts';
import { findPromptFault, replacePrompts } from '../../team/prompts.ts';
import { requireRole, type Protocol } from '../../team/protocol.ts';
import { getRunSampling, type RunConfig } from '../../training/config/config.ts';
import { rolePolicySchema } from '../../training/keys/policyKeys.ts';
import { createRunRenderer, type Team } from '../models/roles.ts';
import { parseRecipeProtocol, type StoredRecipe } from '../recipe/recipe.ts';
import { findSnapshotNamed } from '../session/continuation.ts';
import type { RunSession } from '../session/session.ts';
import type { TrialControl, Variant } from './comparePairs.ts';
import { toCostedTeam } from './costs.ts';
import type { TeamPair } from './teamPair.ts';

/**
 * Plans a trial of a run with its own team. Nothing is loaded.
 * @throws C3Error('input') for a change that the team cannot have
 */
export function planOwnTeams(recipe: StoredRecipe, change: TeamChange, spending: SpendingChoice | undefined): TeamPair {
  const protocol = parseRecipeProtocol(recipe);
  const changed = changeTeam(recipe, protocol, change, spending);
  const after = toCostedTeam(changed.recipe, changed.protocol, spending);
  return {
    costed: [
      toCostedTeam(recipe, protocol, spending),
      { ...after, sampling: changed.sampling, probed: Object.keys(changed.servers) },
    ],
    open: async (session, onRemark) => {
      await using holds = new Holds();
      const opened = await openOwnTeams(session, protocol, changed, holds, onRemark);
      const held = holds.move();
      return { ...opened, [Symbol.asyncDispose]: () => held[Symbol.asyncDispose]() };
    },
  };
}

async function openOwnTeams(
  session: RunSession,
  protocol: Protocol,
  changed: ChangedTeam,
  holds: Holds,
  onRemark: TrialControl['onRemark'],
): Promise<{
  readonly variants: readonly [Variant, Variant];
  readonly evaluator: ReturnType<RunSession['evaluator']>;
  readonly servers?: Trial['servers'];
}> {
  const { store, run, recipe, signal, rules } = session;
  const { weights, roles, sampling } = changed;
  const evaluator = session.evaluator(session.judge);
  const take = async (policy: WeightsChange): Promise<Team> =>
    holds.take(
      session.team(
        'snapshot' in policy ? findSnapshotNamed(store, run, policy.snapshot) : await session.otherModel(policy.model),
      ),
    );
  const before = await take({ snapshot: LAST_SNAPSHOT });
  let { policy } = weights === null ? before : await take(weights);
  const servers = await openServers(session, before.tokenizer, changed.servers, onRemark);
  const settings = Object.fromEntries([...servers].map(([role, server]) => [role, server.settings]));
  for (const [role, other] of Object.entries(roles)) {
    const answering =
      'endpoint' in other
        ? servers.get(role)?.policy
        : 'adapter' in other
          ? (await holds.take(session.withAdapter(other.adapter))).policy
          : (await take(other)).own;
    policy = withRolePolicies(policy, new Map(answering === undefined ? [] : [[role, answering] as const]));
  }
  const render = createRunRenderer(session.engine.models.texts, changeRecipe(recipe, roles, settings), signal);
  return {
    evaluator,
    variants: [
      { protocol, policy: before.policy, sampling: rules.sampling, render: rules.render },
      { protocol: changed.protocol, policy, sampling, render },
    ],
    ...(servers.size > 0 && { servers: describeServers(settings) }),
  };
}

/** A team after a change. */
interface ChangedTeam {
  readonly recipe: StoredRecipe;
  readonly protocol: Protocol;
  readonly sampling: Sampling;
  /** The weights in the place of the run's own; null if they stay. */
  readonly weights: WeightsChange | null;
  readonly roles: TeamChange['roles'];
  readonly servers: ChangedServers;
}

/** @throws C3Error('input') for a change that the team cannot have */
function changeTeam(
  recipe: StoredRecipe,
  protocol: Protocol,
  change: TeamChange,
  spending: SpendingChoice | undefined,
): ChangedTeam {
  for (const role of Object.keys(change.roles)) {
    requireRole(protocol, role);
  }
  const roles = listRolePolicies(
    change,
    protocol.roles.map(({ name }) => name),
  );
  const servers = readChangedServers(roles, recipe.config, spending);
  const after = changeRecipe(recipe, roles, servers);
  return {
    recipe: after,
    protocol: changeProtocol(protocol, change, after.config.policies),
    sampling: { ...getRunSampling(recipe.config), ...change.sampling },
    weights: findTeamWeights(change),
    roles,
    servers,
  };
}

/**
 * Returns the protocol with the changed prompts. If the change sets a token limit, the roles' own
 * limits are removed.
 * @throws C3Error('input') for an unknown role, a role whose policy reads no prompt, or an invalid
 *   prompt
 */
function changeProtocol(
  protocol: Protocol,
  { prompts, sampling }: TeamChange,
  policies: RolePolicies | undefined,
): Protocol {
  for (const [role, prompt] of Object.entries(prompts)) {
    const fault = findPromptFault(protocol, role, prompt);
    if (fault !== null) {
      throw new C3Error('input', fault);
    }
    if (!findCapabilities(policies, role).samples) {
      throw new C3Error(
        'input',
        `The role ${role} answers from a table, which reads no prompt; choose another role, or change the table.`,
      );
    }
  }
  const changed = replacePrompts(protocol, prompts);
  return sampling.maxNewTokens === undefined
    ? changed
    : { ...changed, roles: changed.roles.map((role) => ({ ...role, maxNewTokens: null })) };
}

/** The servers that a change names, by role. */
type ChangedServers = Readonly<Record<string, EndpointSettings>>;

type Settings = Pick<RunConfig, 'policies' | 'scorer'>;

/**
 * Returns the servers that a change names. A server of the run's configuration is asked as there, at
 * its prices unless the change has its own. If a server answered for the role before, its limit also
 * applies here, because spending is counted by role.
 * @throws C3Error('input') for an invalid server, or an unknown price under a limit of money
 */
export const readChangedServers = (
  roles: TeamChange['roles'],
  config: Settings,
  spending?: SpendingChoice,
): ChangedServers =>
  Object.fromEntries(
    Object.entries(roles).flatMap(([role, change]) =>
      'endpoint' in change ? [[role, readChangedServer(role, change, config, spending)] as const] : [],
    ),
  );

function readChangedServer(
  role: string,
  change: ServerChange,
  { policies = {}, scorer }: Settings,
  spending: SpendingChoice = {},
): EndpointSettings {
  const { data, error } = rolePolicySchema.safeParse(change);
  if (data?.kind !== 'endpoint') {
    const [issue] = error?.issues ?? [];
    throw new C3Error(
      'input',
      `The server for the role ${role}: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}.`,
    );
  }
  const { endpoint, model_name } = data;
  const [address = ''] = endpoint;
  const own = Object.hasOwn(policies, role) ? policies[role] : undefined;
  const configured = [own, ...Object.values(policies), scorer?.judge].find(
    (one) => one?.kind === 'endpoint' && one.endpoint.includes(address) && one.model_name === model_name,
  );
  const settings: EndpointSettings = {
    ...(configured?.kind === 'endpoint' ? configured : data),
    endpoint,
    ...(change.prices !== undefined && { prices: data.prices }),
    spending: own !== undefined && isServed(own) ? own.spending : data.spending,
  };
  const limit = spending.money ?? settings.spending.money;
  if (limit !== null && !isPriceKnown(settings.prices) && !isLocal(address)) {
    throw new C3Error(
      'input',
      `The price of the server for the role ${role} is not known, so a limit of money cannot apply; ` +
        'give its prices, or limit tokens instead.',
    );
  }
  return settings;
}

interface OpenServer {
  readonly settings: EndpointSettings;
  readonly policy: RolePolicy | undefined;
}

/**
 * Opens the servers of a change. Each is probed once, for all of its roles. A server without a chat
 * API is asked for completions.
 * @throws C3Error if a server does not answer; CancelledError
 */
async function openServers(
  session: RunSession,
  tokenizer: Pick<Tokenizer, 'encode' | 'decode'>,
  servers: ChangedServers,
  onRemark: TrialControl['onRemark'],
): Promise<ReadonlyMap<string, OpenServer>> {
  const opened = new Map<string, OpenServer>();
  const probed = new Map<string, { readonly api: EndpointApi; readonly probe: EndpointProbe | undefined }>();
  for (const [role, asked] of Object.entries(servers)) {
    const name = JSON.stringify([asked.endpoint, asked.model_name]);
    const { api, probe } = probed.get(name) ?? { api: asked.api, probe: undefined };
    const open = async (settings: EndpointSettings): Promise<void> => {
      const known = probe === undefined ? {} : { [role]: probe };
      const { policies, probes } = await session.endpoints(tokenizer, known, { policies: { [role]: settings } });
      opened.set(role, { settings, policy: policies.get(role) });
      probed.set(name, { api: settings.api, probe: probes[role] });
    };
    try {
      await open({ ...asked, api });
    } catch (error) {
      if (api !== 'chat' || !isApiMissing(error)) {
        throw error;
      }
      try {
        await open({ ...asked, api: 'completions' });
      } catch (second) {
        throw isApiMissing(second) ? error : second;
      }
      onRemark?.(
        `The server for the role ${role} takes no chat requests; ` +
          'it is asked for completions of the exact text of each context.',
      );
    }
  }
  return opened;
}

const describeServers = (servers: ChangedServers): NonNullable<Trial['servers']> =>
  Object.fromEntries(
    Object.entries(servers).map(([role, { api, prices }]) => [
      role,
      { api, prices: isPriceKnown(prices) ? prices : null },
    ]),
  );

/** Returns the recipe in which these servers, or the run's own weights, answer for the changed roles. */
export function changeRecipe(
  recipe: StoredRecipe,
  changed: TeamChange['roles'],
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

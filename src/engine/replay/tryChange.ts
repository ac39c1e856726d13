/** Tries a change of a team: runs both variants on the same problems and the same random numbers. */

import { IMPORTED } from '../../domain/episode.ts';
import type { Sampling } from '../../domain/message.ts';
import type { Problem } from '../../domain/problem.ts';
import { LAST_SNAPSHOT } from '../../domain/replay.ts';
import {
  writeTrialSentence,
  findTeamWeights,
  listRolePolicies,
  type ServerChange,
  type TeamChange,
  type Trial,
  type WeightsChange,
} from '../../domain/trial.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import type { EndpointProbe } from '../../policy/endpoint/endpointPolicy.ts';
import { isApiMissing } from '../../policy/endpoint/probe.ts';
import { isPriceKnown } from '../../policy/endpoint/spending.ts';
import { hasSeeds, type RolePolicy } from '../../policy/policy.ts';
import { withRolePolicies } from '../../policy/teamPolicy.ts';
import type { Tokenizer } from '../../policy/tokenizer.ts';
import { EvaluatorBudget } from '../../replay/budget.ts';
import { scoreMessage } from '../../replay/grow.ts';
import { readFrozenBranch } from '../../replay/storedBranch.ts';
import { countMessageCalls, type Branch } from '../../replay/tree.ts';
import { isLost } from '../../shared/credit/returns.ts';
import { describeCost, type EndpointCost, type SpendingChoice } from '../../shared/endpointCost.ts';
import { isLocal } from '../../shared/endpointKeys.ts';
import { C3Error } from '../../shared/errors.ts';
import { Holds } from '../../shared/holds.ts';
import type { TrialParams } from '../../shared/protocols/engineProtocol.ts';
import {
  findCapabilities,
  isServed,
  type EndpointApi,
  type EndpointSettings,
  type RolePolicies,
} from '../../shared/rolePolicies.ts';
import type { StoreReader } from '../../store/types.ts';
import { findPromptFault, replacePrompts } from '../../team/prompts.ts';
import { requireRole, type Protocol } from '../../team/protocol.ts';
import { getRunSampling, type RunConfig } from '../../training/config/config.ts';
import { rolePolicySchema } from '../../training/keys/policyKeys.ts';
import { createRunRenderer, type Team } from '../models/roles.ts';
import { parseRecipe, parseRecipeProtocol, type StoredRecipe } from '../recipe/recipe.ts';
import { findSnapshotNamed } from '../session/continuation.ts';
import type { RunSession } from '../session/session.ts';
import { requireLastEvaluation } from './blameRun.ts';
import { comparePairs, type TrialControl } from './comparePairs.ts';
import { toCostedTeam, countContextBytes, estimateTrialCosts } from './costs.ts';
import { NO_MARKS } from './divideLosses.ts';
import { readMarks } from './runMarks.ts';
import { selectEpisodes } from './selectEpisodes.ts';

/**
 * Tries a change on the held-out problems of a run, or in the context of one message. Places are
 * drawn with equal chances. Each draw is one pair of episodes on the same random numbers, so that
 * the mean difference over the places has an interval that holds at every look (betting.ts). The
 * trial ends once the interval excludes 0, or at the budget. Answers of servers that ignore seeds
 * share no random numbers, which only widens the interval. Only the costs of servers are stored.
 * @throws C3Error('input') for a run that was recorded elsewhere, an unknown role or snapshot, a
 *   selection without problems, or a budget that is too small for one pair; C3Error('budget') if a
 *   spending limit is too low; CancelledError
 */
export async function tryChange(
  session: RunSession,
  request: Omit<TrialParams, 'run'>,
  control: TrialControl,
): Promise<Trial> {
  const { change, budget, spending, ...asked } = request;
  const { store, run, recipe, protocol, signal, rules } = session;
  requireOwnTeam(store, run);
  const changed = changeTeam(recipe, protocol, change, spending);
  const { weights, roles } = changed;
  const scale = store.returnScale(run);
  if (scale === null) {
    throw new C3Error('input', `The range of returns of run ${run} is not known, so that nothing can be compared.`);
  }
  const began = performance.now();
  const evaluator = session.evaluator(session.judge);
  const { places, calls } = await findTrialPlaces(session, asked, evaluator);
  const { sampling } = rules;
  const problems = places.map(({ problem }) => problem);
  for (const cost of estimateTeamsCosts(store, { run, recipe, protocol, changed, problems }, request)) {
    control.onRemark?.(describeCost(cost));
  }
  await using holds = new Holds();
  const take = async (policy: WeightsChange): Promise<Team> =>
    holds.take(
      session.team(
        'snapshot' in policy ? findSnapshotNamed(store, run, policy.snapshot) : await session.otherModel(policy.model),
      ),
    );
  const before = await take({ snapshot: LAST_SNAPSHOT });
  let { policy } = weights === null ? before : await take(weights);
  const servers = await openServers(session, before.tokenizer, changed.servers, control.onRemark);
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
  const found = await comparePairs(
    {
      run,
      places,
      evaluator,
      seed: recipe.config.seed,
      roles: protocol.occurrences.map(({ role }) => role),
      bound: recipe.config.credit.return_clip,
      span: scale.high - scale.low,
      most: scale.high,
    },
    [
      { protocol, policy: before.policy, sampling, render: rules.render },
      {
        protocol: changed.protocol,
        policy,
        sampling: changed.sampling,
        render: createRunRenderer(session.engine.models.texts, changeRecipe(recipe, roles, settings), signal),
      },
    ],
    budget,
    { ...control, signal },
  );
  const unseeded = protocol.roles
    .map(({ name }) => name)
    .filter((role) => [before.policy, policy].some((one) => !hasSeeds(one, role)));
  const { message, only = [] } = asked;
  const trial = {
    ...found,
    ...(message !== undefined && { message }),
    ...(only.length > 0 && { only }),
    ...(unseeded.length > 0 && { unseeded }),
    ...(servers.size > 0 && { servers: describeServers(settings) }),
    evaluatorCalls: found.evaluatorCalls + calls,
    seconds: (performance.now() - began) / 1000,
  };
  return { ...trial, sentence: writeTrialSentence(trial) };
}

/**
 * Returns the highest server costs of a trial, both sides together, without sending requests.
 * @throws as tryChange
 */
export async function estimateChangeCosts(
  store: StoreReader,
  { run, change, ...asked }: TrialParams,
): Promise<readonly EndpointCost[]> {
  requireOwnTeam(store, run);
  const recipe = parseRecipe(store.runConfig(run), run);
  const protocol = parseRecipeProtocol(recipe);
  const changed = changeTeam(recipe, protocol, change, asked.spending);
  const problems = asked.message === undefined ? await readHeldOutProblems(store, run, asked) : [];
  return estimateTeamsCosts(store, { run, recipe, protocol, changed, problems }, asked);
}

/** @throws C3Error('input') for a run that was recorded elsewhere */
function requireOwnTeam(store: StoreReader, run: string): void {
  if (store.run(run).method === IMPORTED) {
    throw new C3Error(
      'input',
      `Run ${run} was recorded elsewhere; a change is tried on runs whose team is known here. Choose another run.`,
    );
  }
}

/** The team of a run before and after a change. */
interface Teams {
  readonly run: string;
  readonly recipe: StoredRecipe;
  readonly protocol: Protocol;
  readonly changed: ChangedTeam;
  /** Problems that the trial draws from. */
  readonly problems: readonly Problem[];
}

function estimateTeamsCosts(
  store: StoreReader,
  { run, recipe, protocol, changed, problems }: Teams,
  { budget, spending, message }: Pick<TrialParams, 'budget' | 'spending' | 'message'>,
): readonly EndpointCost[] {
  const bytes =
    message === undefined
      ? Math.max(...problems.map(({ question }) => Buffer.byteLength(question)))
      : countContextBytes(store, store.fullMessage(message));
  const after = toCostedTeam(changed.recipe, changed.protocol, spending);
  return estimateTrialCosts(store, run, { episodes: Math.floor(budget / 2), bytes }, [
    toCostedTeam(recipe, protocol, spending),
    { ...after, sampling: changed.sampling, probed: Object.keys(changed.servers) },
  ]);
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

/** Returns the places where episodes begin, and the evaluator calls for the messages before them. */
async function findTrialPlaces(
  session: RunSession,
  asked: Pick<TrialParams, 'problems' | 'only' | 'message'>,
  evaluator: Evaluator,
): Promise<{ readonly places: readonly Branch[]; readonly calls: number }> {
  const { store, run, protocol, rules, signal } = session;
  if (asked.message === undefined) {
    const problems = await readHeldOutProblems(store, run, asked);
    return { places: problems.map((problem) => ({ problem, message: null })), calls: 0 };
  }
  const place = await readFrozenBranch(
    store.fullMessage(asked.message),
    { store, protocol, render: rules.render },
    signal,
  );
  let calls = 0;
  // The scores of earlier messages are part of the return.
  for (let { message } = place; message !== null; message = message.parent) {
    const budget = new EvaluatorBudget(1);
    budget.reserve(1);
    await scoreMessage({ protocol, evaluator, budget }, message, signal);
    calls += countMessageCalls(message);
  }
  return { places: [place], calls };
}

/** Returns the held-out problems for a trial. @throws C3Error('input') if there is none */
async function readHeldOutProblems(
  store: StoreReader,
  run: string,
  { problems: asked, only = [] }: Pick<TrialParams, 'problems' | 'only'>,
): Promise<Problem[]> {
  const { episodes, scale } = requireLastEvaluation(store, run);
  const chosen = episodes.filter(({ return: value }) => asked === 'all' || (value !== null && isLost(value, scale)));
  if (chosen.length === 0) {
    throw new C3Error('input', `Run ${run} lost no episode of its last evaluation; try the change on all problems.`);
  }
  const selectable = chosen.map(({ leaf, problem }) => ({
    problem: store.problem(problem),
    messages: only.length === 0 ? [] : store.chain(leaf).map(({ id }) => id),
  }));
  const marks = only.length === 0 ? NO_MARKS : await readMarks(store, run);
  const found = `${asked === 'lost' ? 'lost ' : ''}episode of the last evaluation`;
  const selected = selectEpisodes(selectable, only, marks, found);
  return [...new Map(selected.map(({ problem }) => [problem.uidSha, problem])).values()];
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

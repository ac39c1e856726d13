/** Tries a change of a team: runs both variants on the same problems and the same random numbers. */
import { IMPORTED } from '../../domain/episode.ts';
import type { Sampling } from '../../domain/message.ts';
import type { Problem } from '../../domain/problem.ts';
import { LAST_SNAPSHOT } from '../../domain/replay.ts';
import {
  trialSentence,
  type TeamChange,
  type Trial,
  type WeightsChange,
  type ServerChange,
} from '../../domain/trial.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import { takesSeeds } from '../../policy/policy.ts';
import { withRolePolicies } from '../../policy/teamPolicy.ts';
import { EvaluatorBudget } from '../../replay/budget.ts';
import { scoreMessage } from '../../replay/grow.ts';
import { frozenBranch } from '../../replay/storedBranch.ts';
import { callOf, type Branch } from '../../replay/tree.ts';
import { isLost } from '../../shared/credit/returns.ts';
import { costWords, type EndpointCost, type SpendingChoice } from '../../shared/endpointCost.ts';
import { isLocal } from '../../shared/endpointKeys.ts';
import { C3Error } from '../../shared/errors.ts';
import { Holds } from '../../shared/holds.ts';
import type { TrialParams } from '../../shared/protocols/engineProtocol.ts';
import { capabilitiesOf, type RolePolicies, isServed, type EndpointSettings } from '../../shared/rolePolicies.ts';
import type { StoreReader } from '../../store/types.ts';
import { promptFault, withPrompts } from '../../team/prompts.ts';
import { roleNamed, type Protocol } from '../../team/protocol.ts';
import { runSampling } from '../../training/config/config.ts';
import { rolePolicySchema } from '../../training/keys/policyKeys.ts';
import { runRenderer, type Team } from '../models/roles.ts';
import { parseRecipe, protocolOf, type StoredRecipe } from '../recipe/recipe.ts';
import { snapshotNamed } from '../session/continuation.ts';
import type { RunSession } from '../session/session.ts';
import { evaluatedEpisodes } from './blameRun.ts';
import { comparePairs, type TrialControl } from './comparePairs.ts';
import { costedTeam, countBytes, trialCosts } from './costs.ts';
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
  checkOwn(store, run);
  const changed = changedTeam(recipe, protocol, change, spending);
  const scale = store.returnScale(run);
  if (scale === null) {
    throw new C3Error('input', `The range of returns of run ${run} is not known, so that nothing can be compared.`);
  }
  const began = performance.now();
  const evaluator = session.evaluator(session.judge);
  const { places, calls } = await placesOf(session, asked, evaluator);
  const { sampling } = rules;
  const problems = places.map(({ problem }) => problem);
  for (const cost of costsOf(store, { run, recipe, protocol, changed, problems }, request)) {
    control.onRemark?.(costWords(cost));
  }
  await using holds = new Holds();
  const take = async (policy: WeightsChange): Promise<Team> =>
    holds.take(
      session.team(
        'snapshot' in policy ? snapshotNamed(store, run, policy.snapshot) : await session.otherModel(policy.model),
      ),
    );
  const before = await take({ snapshot: LAST_SNAPSHOT });
  let { policy } = change.policy === null ? before : await take(change.policy);
  const served = await session.endpoints(before.tokenizer, {}, { policies: changed.servers });
  for (const [role, other] of Object.entries(change.roles)) {
    const answering = 'endpoint' in other ? served.policies.get(role) : (await take(other)).own;
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
        render: runRenderer(session.engine.models.texts, changed.recipe, signal),
      },
    ],
    budget,
    { ...control, signal },
  );
  const unseeded = protocol.roles
    .map(({ name }) => name)
    .filter((role) => [before.policy, policy].some((one) => !takesSeeds(one, role)));
  const { message, only = [] } = asked;
  const trial = {
    ...found,
    ...(message !== undefined && { message }),
    ...(only.length > 0 && { only }),
    ...(unseeded.length > 0 && { unseeded }),
    evaluatorCalls: found.evaluatorCalls + calls,
    seconds: (performance.now() - began) / 1000,
  };
  return { ...trial, sentence: trialSentence(trial) };
}

/**
 * Returns the highest server costs of a trial, both sides together, without sending requests.
 * @throws as tryChange
 */
export async function changeCosts(
  store: StoreReader,
  { run, change, ...asked }: TrialParams,
): Promise<readonly EndpointCost[]> {
  checkOwn(store, run);
  const recipe = parseRecipe(store.runConfig(run), run);
  const protocol = protocolOf(recipe);
  const changed = changedTeam(recipe, protocol, change, asked.spending);
  const problems = asked.message === undefined ? await heldOut(store, run, asked) : [];
  return costsOf(store, { run, recipe, protocol, changed, problems }, asked);
}

/** @throws C3Error('input') for a run that was recorded elsewhere */
function checkOwn(store: StoreReader, run: string): void {
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

function costsOf(
  store: StoreReader,
  { run, recipe, protocol, changed, problems }: Teams,
  { budget, spending, message }: Pick<TrialParams, 'budget' | 'spending' | 'message'>,
): readonly EndpointCost[] {
  const bytes =
    message === undefined
      ? Math.max(...problems.map(({ question }) => Buffer.byteLength(question)))
      : countBytes(store, store.fullMessage(message));
  const after = costedTeam(changed.recipe, changed.protocol, spending);
  return trialCosts(store, run, { episodes: Math.floor(budget / 2), bytes }, [
    costedTeam(recipe, protocol, spending),
    { ...after, sampling: changed.sampling, probed: Object.keys(changed.servers) },
  ]);
}

/** A team after a change. */
interface ChangedTeam {
  readonly recipe: StoredRecipe;
  readonly protocol: Protocol;
  readonly sampling: Sampling;
  readonly servers: ChangedServers;
}

/** @throws C3Error('input') for a change that the team cannot have */
function changedTeam(
  recipe: StoredRecipe,
  protocol: Protocol,
  change: TeamChange,
  spending: SpendingChoice | undefined,
): ChangedTeam {
  for (const role of Object.keys(change.roles)) {
    roleNamed(protocol, role);
  }
  const servers = changedServers(change, recipe.config.policies, spending);
  const after = changedRecipe(recipe, change, servers);
  return {
    recipe: after,
    protocol: changedProtocol(protocol, change, after.config.policies),
    sampling: { ...runSampling(recipe.config), ...change.sampling },
    servers,
  };
}

/** Returns the places where episodes begin, and the evaluator calls for the messages before them. */
async function placesOf(
  session: RunSession,
  asked: Pick<TrialParams, 'problems' | 'only' | 'message'>,
  evaluator: Evaluator,
): Promise<{ readonly places: readonly Branch[]; readonly calls: number }> {
  const { store, run, protocol, rules, signal } = session;
  if (asked.message === undefined) {
    const problems = await heldOut(store, run, asked);
    return { places: problems.map((problem) => ({ problem, message: null })), calls: 0 };
  }
  const place = await frozenBranch(store.fullMessage(asked.message), { store, protocol, render: rules.render }, signal);
  let calls = 0;
  // The scores of earlier messages are part of the return.
  for (let { message } = place; message !== null; message = message.parent) {
    const budget = new EvaluatorBudget(1);
    budget.reserve(1);
    await scoreMessage({ protocol, evaluator, budget }, message, signal);
    calls += callOf(message);
  }
  return { places: [place], calls };
}

/** Returns the held-out problems for a trial. @throws C3Error('input') if there is none */
async function heldOut(
  store: StoreReader,
  run: string,
  { problems: asked, only = [] }: Pick<TrialParams, 'problems' | 'only'>,
): Promise<Problem[]> {
  const { episodes, scale } = evaluatedEpisodes(store, run);
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
function changedProtocol(
  protocol: Protocol,
  { prompts, sampling }: TeamChange,
  policies: RolePolicies | undefined,
): Protocol {
  for (const [role, prompt] of Object.entries(prompts)) {
    const fault = promptFault(protocol, role, prompt);
    if (fault !== null) {
      throw new C3Error('input', fault);
    }
    if (!capabilitiesOf(policies, role).samples) {
      throw new C3Error(
        'input',
        `The role ${role} answers from a table, which reads no prompt; choose another role, or change the table.`,
      );
    }
  }
  const changed = withPrompts(protocol, prompts);
  return sampling.maxNewTokens === undefined
    ? changed
    : { ...changed, roles: changed.roles.map((role) => ({ ...role, maxNewTokens: null })) };
}

/** The servers that a change names, by role. */
type ChangedServers = Readonly<Record<string, EndpointSettings>>;

/**
 * Returns the servers that a change names. If a server answered for the role before, its limit also
 * applies here, because spending is counted by role. Its prices apply only to its own model.
 * @throws C3Error('input') for an invalid server, or an unknown price under a limit of money
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
      `The price of the server for the role ${role} is not known, so a limit of money cannot apply; limit tokens instead.`,
    );
  }
  return limited;
}

/** Returns the recipe in which these servers, or the run's own weights, answer for the changed roles. */
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

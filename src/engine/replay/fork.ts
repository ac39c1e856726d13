/** Replays recorded messages: servers answer, and the user's program decides which message is next. */

import { creditIfComparable } from '../../credit/compared.ts';
import { IMPORTED } from '../../domain/episode.ts';
import type { FullMessage } from '../../domain/message.ts';
import type { ReplayResult } from '../../domain/replay.ts';
import type { NumericEnvironment } from '../../domain/snapshot.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import type { EndpointPolicy } from '../../policy/endpoint/endpointPolicy.ts';
import { hasSeeds, type Policy, type RolePolicy } from '../../policy/policy.ts';
import { createTeamPolicy } from '../../policy/teamPolicy.ts';
import { replayMessage } from '../../replay/replayMessage.ts';
import type { ReplayControl } from '../../replay/request.ts';
import { describeCost, type EndpointCost } from '../../shared/endpointCost.ts';
import { C3Error } from '../../shared/errors.ts';
import type { ServedSettings } from '../../shared/rolePolicies.ts';
import type { StoreReader } from '../../store/types.ts';
import { parseProtocol } from '../../team/parseProtocol.ts';
import type { Protocol } from '../../team/protocol.ts';
import { renderPlain } from '../../team/render.ts';
import { getRunSampling } from '../../training/config/config.ts';
import { DrivenProgram, type AskingProgram } from '../program/drivenProgram.ts';
import { DriverProcess } from '../program/driverProcess.ts';
import { InferredProgram } from '../program/inferredProgram.ts';
import { createEndpointSettings, readTeam, type RecordedTeam } from '../program/teamFile.ts';
import { parseRecipe, parseRecipeProtocol } from '../recipe/recipe.ts';
import { createPacer } from '../run/time/pace.ts';
import { findModelToServe, serveFolder, type OwnServer } from '../serve/ownServer.ts';
import type { RunSession } from '../session/session.ts';
import { estimateCosts } from './costs.ts';
import { isDecidedIn, toPairRequest, type EngineReplay } from './settling.ts';

/** Most turns of each role, and most turns in total. */
const MOST_TURNS = 64;
const MOST_OCCURRENCES = 1024;
/** Tokenizer for texts that no local model reads. */
const NO_TOKENS = { encode: () => new Int32Array(), decode: () => '' };

/**
 * Replays a message of an imported run.
 * @throws C3Error('input') for a team file that is invalid or has no policy for a role;
 *   C3Error('engine') if the program does not continue from the recorded messages; CancelledError
 */
export async function forkMessage(
  session: RunSession,
  message: FullMessage,
  request: EngineReplay & { readonly team: string },
  control: ReplayControl,
): Promise<ReplayResult> {
  const { store, run, recipe, signal, rules } = session;
  const team = await readTeam(request.team, request.teamHash);
  const protocol = openProtocol(session.protocol, countMostTurns(team));
  const { snapshot = null, temperature = null, model = null } = request.continuation ?? {};
  if (snapshot !== null || model !== null) {
    throw new C3Error('input', `${team.path} names the models that answer for run ${run}; name another model there.`);
  }
  const { next } = team;
  if (next.kind === 'steps') {
    // An edited result applies only after its own message.
    const isGiven = typeof request.result === 'string' && request.alternatives === 0;
    new InferredProgram(next.steps, team).check(countEntriesThrough(store, message.id) + (isGiven ? 1 : 0));
  }
  const asked = toPairRequest(store, request, true, protocol);
  for (const cost of estimateForkCosts(store, message, request, team)) {
    control.onRemark?.(describeCost(cost));
  }
  const { evaluator, temperature: usual, maxNewTokens } = team;
  await using served =
    team.serve === null ? null : await serveFolder(findModelToServe(team.serve, team.folder), { signal });
  const policies = choosePolicies(team, protocol, served);
  const keys = new Map(served === null ? [] : [[served.url, served.key]]);
  const { policies: endpoints } = await session.endpoints(NO_TOKENS, {}, { policies, keys });
  const task = { ...recipe.config.task, train_file: team.path };
  const scoring = session.evaluator(null, { config: { evaluator, scorer: null, task }, folder: team.folder });
  using running = startProgram(team);
  const { program } = running;
  return await replayMessage(
    asked,
    {
      ...rules,
      protocol,
      program,
      render: renderPlain,
      policy: joinPolicies(store.environment(message.environment), policies, endpoints, program),
      evaluator: requireAnswers(scoring, team.answer),
      sampling: { ...rules.sampling, temperature: temperature ?? usual ?? rules.sampling.temperature, maxNewTokens },
      credit: (alternatives) => creditIfComparable(alternatives, 'loo'),
      ...(request.settle !== undefined && { decided: isDecidedIn }),
    },
    { ...control, signal, due: createPacer() },
  );
}

/**
 * Returns the highest server costs of a fork, without starting anything or sending requests.
 * @throws C3Error('input') for a role without a policy in the team file, or a credit that is
 *   settled already
 */
export function estimateForkCosts(
  store: StoreReader,
  message: FullMessage,
  request: EngineReplay,
  team: RecordedTeam,
): readonly EndpointCost[] {
  const recipe = parseRecipe(store.runConfig(message.run), message.run);
  const protocol = openProtocol(parseRecipeProtocol(recipe), countMostTurns(team));
  const here = team.serve === null ? null : { url: 'http://127.0.0.1/v1', model: team.serve };
  const policies = choosePolicies(team, protocol, here);
  const asked = toPairRequest(store, request, true, protocol);
  const sampling = { ...getRunSampling(recipe.config), maxNewTokens: team.maxNewTokens };
  const position = protocol.roles.findIndex(({ name }) => name === message.role);
  const limit = request.spending ?? {};
  return estimateCosts(store, { ...message, position }, asked, { protocol, policies, sampling, limit });
}

/**
 * Returns a protocol with the same roles in which each may speak at any time, because the program
 * decides the order.
 * @param most most turns of each role
 */
function openProtocol({ roles, name }: Protocol, most: number): Protocol {
  const turns = Math.max(1, Math.min(most, Math.floor(MOST_OCCURRENCES / roles.length)));
  const text = JSON.stringify({
    name,
    roles: roles.map(({ name: role }) => ({ role, prompt: 'Asked by the program.' })),
    rounds: { order: 'chosen', turns, max_events: turns + 1, closing: 'last' },
  });
  return parseProtocol(text, name);
}

function choosePolicies(
  team: RecordedTeam,
  { roles }: Protocol,
  served: Pick<OwnServer, 'url' | 'model'> | null,
): Readonly<Record<string, ServedSettings>> {
  return Object.fromEntries(
    roles.map(({ name }) => {
      const policy =
        team.policyOf(name) ?? (served === null ? undefined : createEndpointSettings(served.url, served.model));
      if (policy === undefined) {
        throw new C3Error(
          'input',
          `${team.path} names no model for the role ${name}; add the role to policies, or add policy or serve for all roles.`,
        );
      }
      return [name, policy] as const;
    }),
  );
}

/** Joins the servers into one team policy. Contexts are replaced by the program's own requests. */
function joinPolicies(
  environment: NumericEnvironment,
  policies: Readonly<Record<string, ServedSettings>>,
  endpoints: ReadonlyMap<string, EndpointPolicy>,
  program: AskingProgram,
): Policy {
  const none = (): never => {
    throw new Error('Every role is answered by a server.');
  };
  const nobody: Policy = { snapshot: IMPORTED, environment, seeded: true, answer: none, typed: none };
  const asking = [...endpoints].map(([role, endpoint]): readonly [string, RolePolicy] => [
    role,
    {
      seeded: hasSeeds(endpoint, role),
      answer: (requests, control) =>
        endpoint.answer(
          requests.map((request) => ({ ...request, context: program.bodyOf(request.context) })),
          control,
        ),
      typed: (request) => endpoint.typed(request),
    },
  ]);
  return createTeamPolicy(nobody, policies, NO_TOKENS, new Map(asking));
}

/**
 * Returns an evaluator that refuses problems without a known answer, because every message would
 * count as wrong.
 * @param answer replaces the answer of the log; null to keep that
 */
const requireAnswers = (evaluator: Evaluator, answer: string | null): Evaluator => ({
  ...evaluator,
  evaluate: (problem, text, signal) => {
    const right = answer ?? problem.answer;
    if (right === '') {
      throw new C3Error(
        'input',
        `The log has no right answer to ${JSON.stringify(problem.question.slice(0, 80))}; set answer in the team file, or let the driver end with its own return.`,
      );
    }
    return evaluator.evaluate({ ...problem, answer: right }, text, signal);
  },
});

/** Returns the most turns of a role: the number of its steps, or the limit for drivers. */
function countMostTurns({ next }: RecordedTeam): number {
  if (next.kind === 'driver') {
    return MOST_TURNS;
  }
  const speakers = next.steps.flatMap((step) => ('role' in step ? [step.role] : []));
  return Math.max(1, ...[...Map.groupBy(speakers, (role) => role).values()].map(({ length }) => length));
}

/** Counts the log entries of an episode up to and including a message. */
const countEntriesThrough = (store: StoreReader, message: number): number =>
  store.chain(message).reduce((count, { id }) => count + 1 + store.environmentEvents(id, 'before').length, 0);

/** Starts the program that decides the next message. It runs until it is disposed of. */
function startProgram(team: RecordedTeam): Disposable & { readonly program: AskingProgram } {
  const { next, folder, timeLimit, ownContexts } = team;
  if (next.kind === 'steps') {
    return { program: new InferredProgram(next.steps, team), [Symbol.dispose]: () => undefined };
  }
  const driver = new DriverProcess({ command: next.command, folder, timeLimit });
  return { program: new DrivenProgram(driver, ownContexts), [Symbol.dispose]: () => driver.close() };
}

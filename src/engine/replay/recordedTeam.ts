/** Opens the team of a recording: the program that decides the next step, and the servers that answer. */

import { z } from 'zod';
import { IMPORTED } from '../../domain/episode.ts';
import type { Problem } from '../../domain/problem.ts';
import type { NumericEnvironment } from '../../domain/snapshot.ts';
import type { TeamChange } from '../../domain/trial.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import type { EndpointPolicy } from '../../policy/endpoint/endpointPolicy.ts';
import { hasSeeds, type Policy, type RolePolicy } from '../../policy/policy.ts';
import { createTeamPolicy } from '../../policy/teamPolicy.ts';
import { C3Error } from '../../shared/errors.ts';
import type { Holds } from '../../shared/holds.ts';
import type { ServedSettings } from '../../shared/rolePolicies.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';
import { parseProtocol } from '../../team/parseProtocol.ts';
import type { Protocol } from '../../team/protocol.ts';
import { DrivenProgram, type AskingProgram } from '../program/drivenProgram.ts';
import { DriverProcess } from '../program/driverProcess.ts';
import { InferredProgram } from '../program/inferredProgram.ts';
import { createEndpointSettings, type RecordedTeam } from '../program/teamFile.ts';
import { findModelToServe, serveFolder, type ModelToServe, type OwnServer } from '../serve/ownServer.ts';
import type { RunSession } from '../session/session.ts';

/** Most turns of each role, and most turns in total. */
const MOST_TURNS = 64;
const MOST_OCCURRENCES = 1024;
/** Characters of a question in an error. */
const SHOWN = 80;
/** Tokenizer for texts that no local model reads. */
const NO_TOKENS = { encode: () => new Int32Array(), decode: () => '' };
/** Address of a model that is served on this machine, before it is. */
const HERE = 'http://127.0.0.1/v1';
/** What is read of a program's request. */
const requestSchema = z.looseObject({ messages: z.array(z.looseObject({ role: z.string() })) });

/** A model that answers for a role: on a server, or in a folder that is served here. */
export type Answering = ServedSettings | ModelToServe;

export interface OpenRecordedTeam {
  readonly program: AskingProgram;
  readonly policy: Policy;
  readonly evaluator: Evaluator;
}

/** Models that are served on this machine, by folder and adapter. */
export type ServedModels = ReadonlyMap<string, OwnServer>;

/** What a team is opened with. */
export interface RecordedOpening {
  readonly team: RecordedTeam;
  /** Models by role, see listAnswering. */
  readonly answering: Readonly<Record<string, Answering>>;
  readonly servers: ServedModels;
  readonly environment: NumericEnvironment;
  /** System messages by role, in the place of the program's own. */
  readonly prompts?: TeamChange['prompts'];
}

/**
 * Serves the model folders among the models of teams, each once.
 * @param holds keeps the servers
 * @throws C3Error('model') if a model cannot be loaded; CancelledError
 */
export async function serveModels(
  teams: readonly Readonly<Record<string, Answering>>[],
  holds: Holds,
  signal: AbortSignal,
): Promise<ServedModels> {
  const servers = new Map<string, OwnServer>();
  for (const one of teams.flatMap((answering) => Object.values(answering))) {
    if (isServedHere(one) && !servers.has(nameModel(one))) {
      servers.set(nameModel(one), await holds.take(serveFolder(one, { signal })));
    }
  }
  return servers;
}

/**
 * Starts the program of a recorded team and connects it to its servers.
 * @param holds keeps the program
 * @throws C3Error if a server does not answer; CancelledError
 */
export async function openRecordedTeam(
  session: RunSession,
  { team, answering, servers, environment, prompts = {} }: RecordedOpening,
  holds: Holds,
): Promise<OpenRecordedTeam> {
  const policies = settleAddresses(answering, (one) => servers.get(nameModel(one)));
  const keys = new Map([...servers.values()].map(({ url, key }) => [url, key]));
  const { policies: endpoints } = await session.endpoints(NO_TOKENS, {}, { policies, keys });
  const task = { ...session.recipe.config.task, train_file: team.path };
  const config = { evaluator: team.evaluator, scorer: null, task };
  const scoring = session.evaluator(null, { config, folder: team.folder });
  const { program } = holds.add(startProgram(team));
  const policy = joinPolicies(environment, policies, endpoints, { program, prompts });
  return { program, policy, evaluator: requireAnswers(scoring, team.answer) };
}

/**
 * Returns the models that answer for the roles of a team.
 * @param changed models in the place of those of the team file
 * @throws C3Error('input') for a role without a model
 */
export function listAnswering(
  team: RecordedTeam,
  { roles }: Pick<Protocol, 'roles'>,
  changed: Readonly<Record<string, Answering>> = {},
): Readonly<Record<string, Answering>> {
  return Object.fromEntries(
    roles.map(({ name }): [string, Answering] => {
      const own = Object.hasOwn(changed, name) ? changed[name] : team.policyOf(name);
      const found = own ?? (team.serve === null ? undefined : findModelToServe(team.serve, team.folder));
      if (found === undefined) {
        throw new C3Error(
          'input',
          `${team.path} names no model for the role ${name}; ` +
            'add the role to policies, or add policy or serve for all roles.',
        );
      }
      return [name, found];
    }),
  );
}

/** Returns the servers of a team, with the address of this machine for models that are served here. */
export const settleAddresses = (
  answering: Readonly<Record<string, Answering>>,
  serverOf: (model: ModelToServe) => Pick<OwnServer, 'url' | 'model'> | undefined = () => undefined,
): Readonly<Record<string, ServedSettings>> =>
  Object.fromEntries(
    Object.entries(answering).map(([role, one]) => [
      role,
      isServedHere(one) ? createEndpointSettings(serverOf(one)?.url ?? HERE, serverOf(one)?.model ?? one.name) : one,
    ]),
  );

const isServedHere = (one: Answering): one is ModelToServe => 'folder' in one;

const nameModel = ({ folder, adapter = '' }: ModelToServe): string => JSON.stringify([folder, adapter]);

/**
 * Returns a protocol with the roles of a recording in which each may speak at any time, because the
 * program decides the order.
 * @param teams the teams whose programs decide it
 * @param others roles that the recording lacks
 */
export function openProtocol(
  { roles, name }: Protocol,
  teams: readonly RecordedTeam[],
  others: readonly string[] = [],
): Protocol {
  const names = [...new Set([...roles.map((one) => one.name), ...others])];
  const most = Math.max(...teams.map(countMostTurns));
  const turns = Math.max(1, Math.min(most, Math.floor(MOST_OCCURRENCES / names.length)));
  const text = JSON.stringify({
    name,
    roles: names.map((role) => ({ role, prompt: 'Asked by the program.' })),
    rounds: { order: 'chosen', turns, max_events: turns + 1, closing: 'last' },
  });
  return parseProtocol(text, name);
}

/** Joins the servers into one team policy. Contexts are replaced by the program's own requests. */
function joinPolicies(
  environment: NumericEnvironment,
  policies: Readonly<Record<string, ServedSettings>>,
  endpoints: ReadonlyMap<string, EndpointPolicy>,
  { program, prompts }: { readonly program: AskingProgram; readonly prompts: TeamChange['prompts'] },
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
          requests.map((request) => ({
            ...request,
            context: withSystemMessage(program.bodyOf(request.context), prompts[role]),
          })),
          control,
        ),
      typed: (request) => endpoint.typed(request),
    },
  ]);
  return createTeamPolicy(nobody, policies, NO_TOKENS, new Map(asking));
}

/** Returns a program's request with another system message, which comes first if there was none. */
function withSystemMessage(body: string, prompt: string | undefined): string {
  if (prompt === undefined) {
    return body;
  }
  const { messages, ...rest } = requestSchema.parse(JSON.parse(body));
  const at = messages.findIndex(({ role }) => role === 'system' || role === 'developer');
  const changed = { ...(messages[at] ?? { role: 'system' }), content: prompt };
  return JSON.stringify({ ...rest, messages: at < 0 ? [changed, ...messages] : messages.with(at, changed) });
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
      throw describeNoAnswer(problem);
    }
    return evaluator.evaluate({ ...problem, answer: right }, text, signal);
  },
});

export const describeNoAnswer = ({ question }: Problem): C3Error =>
  new C3Error(
    'input',
    `The log has no right answer to ${JSON.stringify(toOneLine(question, SHOWN))}; set answer in the team file, or ` +
      'let the program send its score to C3_RECORD_SCORE at each start, or the driver end with a return.',
  );

/** Returns the most turns of a role: the number of its steps, or the limit for drivers. */
function countMostTurns({ next }: RecordedTeam): number {
  if (next.kind === 'driver') {
    return MOST_TURNS;
  }
  const speakers = next.steps.flatMap((step) => ('role' in step ? [step.role] : []));
  return Math.max(1, ...[...Map.groupBy(speakers, (role) => role).values()].map(({ length }) => length));
}

/** Starts the program that decides the next message. It runs until it is disposed of. */
function startProgram(team: RecordedTeam): Disposable & { readonly program: AskingProgram } {
  const { next, folder, timeLimit, ownContexts } = team;
  if (next.kind === 'steps') {
    return { program: new InferredProgram(next.steps, team), [Symbol.dispose]: () => undefined };
  }
  const driver = new DriverProcess({ ...next, folder, timeLimit });
  return { program: new DrivenProgram(driver, ownContexts), [Symbol.dispose]: () => driver.close() };
}

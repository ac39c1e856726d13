/** Tries a change of a recorded team: its program, its system messages, decoding, and its models. */

import type { Sampling } from '../../domain/message.ts';
import type { Problem } from '../../domain/problem.ts';
import type { TeamChange } from '../../domain/trial.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import type { EpisodeProgram, ProgramStep } from '../../replay/program.ts';
import type { SpendingChoice } from '../../shared/endpointCost.ts';
import { C3Error } from '../../shared/errors.ts';
import { Holds } from '../../shared/holds.ts';
import { isServed } from '../../shared/rolePolicies.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';
import { requireRole, type Protocol } from '../../team/protocol.ts';
import { renderPlain } from '../../team/render.ts';
import { getRunSampling } from '../../training/config/config.ts';
import type { RecordedTeam } from '../program/teamFile.ts';
import { parseRecipeProtocol, type StoredRecipe } from '../recipe/recipe.ts';
import { findModelToServe } from '../serve/ownServer.ts';
import { readChangedServers } from './changedTeam.ts';
import {
  describeNoAnswer,
  listAnswering,
  openProtocol,
  openRecordedTeam,
  serveModels,
  settleAddresses,
  type Answering,
} from './recordedTeam.ts';
import type { TeamPair } from './teamPair.ts';

/** Text of the event that ends an episode whose program failed. */
const FAILED = '\u0000the program failed';
/** Failures of programs that are shown; all are counted. */
const MOST_REMARKS = 3;
/** Characters of a text in an error. */
const SHOWN = 80;

/** The recording whose team is tried. */
export interface RecordedRun {
  readonly run: string;
  readonly recipe: StoredRecipe;
  /** A message of the recording. */
  readonly of: number;
  /** The recorded problems with the first contexts of their episodes; none in the context of a message. */
  readonly firsts: readonly { readonly problem: Problem; readonly context: string }[];
}

/** The team files of a trial of a recorded team. */
export interface RecordedTeams {
  readonly before: RecordedTeam;
  /** The same file, or that of another program. */
  readonly after: RecordedTeam;
}

/**
 * Plans a trial of a recorded run. Nothing is started.
 * @throws C3Error('input') for a change that the team cannot have
 */
export function planRecordedTeams(
  recording: RecordedRun,
  { before, after }: RecordedTeams,
  change: TeamChange,
  spending: SpendingChoice | undefined,
): TeamPair {
  const { run, recipe, of } = recording;
  const questions = new Set(recording.firsts.map(({ problem }) => problem.question)).size;
  if (before.answer !== null && questions > 1) {
    throw new C3Error(
      'input',
      `${before.path} has one answer, but run ${run} has ${questions} questions; omit answer, and let the program ` +
        'send its score to C3_RECORD_SCORE, or the driver end with a return.',
    );
  }
  const recorded = parseRecipeProtocol(recipe);
  const others = [...before.roles, ...after.roles];
  const protocol = openProtocol(recorded, [before, after], others);
  for (const role of [...Object.keys(change.prompts), ...Object.keys(change.roles)]) {
    requireRole(protocol, role);
  }
  const sampling = getRunSampling(recipe.config);
  const sides = [
    { team: before, answering: listAnswering(before, protocol), sampling: withTeamSampling(sampling, before) },
    {
      team: after,
      answering: listAnswering(after, protocol, listChangedModels(run, after, protocol, change, spending)),
      sampling: { ...withTeamSampling(sampling, after), ...change.sampling },
      prompts: change.prompts,
    },
  ] as const;
  const [first, second] = sides;
  const toCosted = (side: (typeof sides)[number]): TeamPair['costed'][number] => ({
    protocol,
    policies: settleAddresses(side.answering),
    sampling: side.sampling,
    limit: spending ?? {},
  });
  return {
    costed: [toCosted(first), toCosted(second)],
    open: async (session, onRemark) => {
      const environment = session.store.environment(session.store.fullMessage(of).environment);
      await using holds = new Holds();
      const answerings = sides.map(({ answering }) => answering);
      const servers = await serveModels(answerings, holds, session.signal);
      const one = await openRecordedTeam(session, { ...first, servers, environment }, holds);
      const other = await openRecordedTeam(session, { ...second, servers, environment }, holds);
      if (after !== before) {
        await checkAsksQuestions(other.program, recording, session.signal);
      }
      const held = holds.move();
      let failure: C3Error | null = null;
      let failures = 0;
      const keep = (error: C3Error): void => {
        failure ??= error;
        if (failures++ < MOST_REMARKS) {
          onRemark?.(`An episode is left out: ${error.message}`);
        }
      };
      const isScored = ({ answer }: Problem): boolean => (before.answer ?? answer) !== '';
      const shared = { protocol, render: renderPlain };
      const begins = new Map(
        before.ownContexts ? [] : recording.firsts.map(({ problem, context }) => [problem.uidSha, context]),
      );
      return {
        evaluator: maskFailures(one.evaluator),
        failure: () => failure,
        variants: [
          {
            ...shared,
            ...one,
            program: endFailures(one.program, begins, { isScored, onFailure: keep }),
            sampling: first.sampling,
          },
          {
            ...shared,
            ...other,
            program: endFailures(other.program, after === before ? begins : new Map(), { isScored, onFailure: keep }),
            sampling: second.sampling,
          },
        ],
        [Symbol.asyncDispose]: () => held[Symbol.asyncDispose](),
      };
    },
  };
}

const withTeamSampling = (sampling: Sampling, { temperature, maxNewTokens }: RecordedTeam): Sampling => ({
  ...sampling,
  temperature: temperature ?? sampling.temperature,
  maxNewTokens,
});

/** Returns the models of a change by role. @throws C3Error('input') for one that a recorded team cannot have */
function listChangedModels(
  run: string,
  team: RecordedTeam,
  { roles }: Protocol,
  change: TeamChange,
  spending: SpendingChoice | undefined,
): Readonly<Record<string, Answering>> {
  const names = roles.map(({ name }) => name);
  // A recorded team has no weights of its own, so that a policy for the team answers for every role.
  const { policy } = change;
  const changed = { ...(policy !== null && Object.fromEntries(names.map((name) => [name, policy]))), ...change.roles };
  const own = names.flatMap((name) => {
    const found = team.policyOf(name);
    return found === undefined ? [] : [[name, found] as const];
  });
  const servers = readChangedServers(changed, { policies: Object.fromEntries(own), scorer: null }, spending);
  if (Object.values(changed).some((one) => 'snapshot' in one)) {
    throw new C3Error('input', `Run ${run} was recorded elsewhere and has no snapshots; try model= or endpoint=.`);
  }
  return Object.fromEntries(
    Object.entries(changed).map(([role, one]): [string, Answering] => {
      if ('model' in one) {
        return [role, findModelToServe(one.model, team.folder)];
      }
      if ('adapter' in one) {
        return [role, { ...requireServedModel(team), adapter: one.adapter }];
      }
      const server = servers[role];
      if (server === undefined || !isServed(server)) {
        throw new Error(`No server answers for the role ${role}.`);
      }
      return [role, server];
    }),
  );
}

/** Returns the model that an adapter belongs to. @throws C3Error('input') if the team file names none */
function requireServedModel({ serve, folder, path }: RecordedTeam): ReturnType<typeof findModelToServe> {
  if (serve === null) {
    throw new C3Error('input', `${path} serves no model that an adapter could belong to; name its folder as serve.`);
  }
  return findModelToServe(serve, folder);
}

/**
 * Checks that a program asks the question of each problem, by the first two whose recorded first
 * contexts differ.
 * @throws C3Error('engine') if it begins both in the same way
 */
async function checkAsksQuestions(
  program: EpisodeProgram,
  { firsts }: RecordedRun,
  signal: AbortSignal,
): Promise<void> {
  const [one] = firsts;
  const other = firsts.find(({ context }) => context !== one?.context);
  if (one === undefined || other === undefined) {
    return;
  }
  const [first, second] = await Promise.all([one, other].map(({ problem }) => program.next(problem, [], signal)));
  if (first?.kind === 'message' && second?.kind === 'message' && first.context === second.context) {
    throw describeOtherQuestion(other.problem, second.context);
  }
}

const describeOtherQuestion = ({ question }: Problem, context: string): C3Error =>
  new C3Error(
    'engine',
    `The program does not begin with the question ${JSON.stringify(toOneLine(question, SHOWN))}, but with ` +
      `${JSON.stringify(toOneLine(context, SHOWN))}; let it send C3_QUESTION of its environment unchanged as its ` +
      'first user message, or name a driver.',
  );

/**
 * Returns a program whose failures end only their own episodes, which are masked. A model's text may
 * make a program fail, and this says nothing about other episodes. An episode that begins otherwise
 * than the recorded one fails too, and so does one that nothing can score.
 * @param begins the recorded first contexts by problem; empty for another program than the recorded one
 * @param isScored returns true for a problem whose right answer is known
 * @param onFailure receives each failure
 */
function endFailures(
  program: EpisodeProgram,
  begins: ReadonlyMap<string, string>,
  {
    isScored,
    onFailure,
  }: { readonly isScored: (problem: Problem) => boolean; readonly onFailure: (error: C3Error) => void },
): EpisodeProgram {
  const fail = (error: C3Error): ProgramStep => {
    onFailure(error);
    return { kind: 'end', text: FAILED, reward: null };
  };
  return {
    ownContexts: program.ownContexts,
    next: async (problem, log, signal) => {
      try {
        const step = await program.next(problem, log, signal);
        const begin = log.length === 0 ? begins.get(problem.uidSha) : undefined;
        if (step.kind === 'message' && begin !== undefined && begin !== step.context) {
          throw describeOtherQuestion(problem, step.context);
        }
        return step.kind === 'end' && step.reward === null && !isScored(problem)
          ? fail(describeNoAnswer(problem))
          : step;
      } catch (error) {
        if (!(error instanceof C3Error) || error.kind !== 'engine') {
          throw error;
        }
        return fail(error);
      }
    },
  };
}

/** Returns an evaluator that masks episodes whose program failed. */
const maskFailures = (evaluator: Evaluator): Evaluator => ({
  ...evaluator,
  evaluate: (problem, text, signal) =>
    text === FAILED
      ? Promise.resolve({ score: null, rule: 'no end', masked: 'The program failed.' })
      : evaluator.evaluate(problem, text, signal),
});

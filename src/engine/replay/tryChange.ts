/** Tries a change of a team: runs both variants on the same problems and the same random numbers. */

import type { Problem } from '../../domain/problem.ts';
import { writeTrialSentence, type Trial } from '../../domain/trial.ts';
import type { Evaluator } from '../../evaluate/evaluator.ts';
import { hasSeeds } from '../../policy/policy.ts';
import { EvaluatorBudget } from '../../replay/budget.ts';
import { scoreMessage } from '../../replay/grow.ts';
import { placeMessage } from '../../replay/program.ts';
import { readFrozenBranch } from '../../replay/storedBranch.ts';
import { countMessageCalls, type Branch } from '../../replay/tree.ts';
import { isLost } from '../../shared/credit/returns.ts';
import { describeCost, type EndpointCost } from '../../shared/endpointCost.ts';
import { C3Error } from '../../shared/errors.ts';
import type { TrialParams } from '../../shared/protocols/engineProtocol.ts';
import type { StoreReader } from '../../store/types.ts';
import { readTeam } from '../program/teamFile.ts';
import { parseRecipe } from '../recipe/recipe.ts';
import type { RunSession } from '../session/session.ts';
import { checkTeam, onlyOnce } from './blame.ts';
import { requireLastEvaluation } from './blameRun.ts';
import { planRecordedTeams } from './changedProgram.ts';
import { planOwnTeams } from './changedTeam.ts';
import { comparePairs, type TrialControl, type Variant } from './comparePairs.ts';
import { countContextBytes, estimateTrialCosts } from './costs.ts';
import { NO_MARKS } from './divideLosses.ts';
import { readMarks } from './runMarks.ts';
import { selectEpisodes, type Selectable } from './selectEpisodes.ts';
import type { TeamPair } from './teamPair.ts';

/**
 * Tries a change on the held-out problems of a run, on those of a recording, or in the context of one
 * message. Places are drawn with equal chances. Each draw is one pair of episodes on the same random
 * numbers, so that the mean difference over the places has an interval that holds at every look
 * (betting.ts). The trial ends once the interval excludes 0, or at the budget. Answers of servers that
 * ignore seeds share no random numbers, which only widens the interval. An episode whose program fails
 * costs its own pair. Only the costs of servers are stored.
 * @throws C3Error('input') for a recording without its team file, an unknown role or snapshot, a
 *   selection without problems, or a budget that is too small for one pair; C3Error('budget') if a
 *   spending limit is too low; C3Error('engine') if a program fails in every pair; CancelledError
 */
export async function tryChange(
  session: RunSession,
  request: Omit<TrialParams, 'run'>,
  control: TrialControl,
): Promise<Trial> {
  const { budget, message, only = [] } = request;
  const { store, run, recipe, signal } = session;
  const onRemark = onlyOnce(control.onRemark);
  const began = performance.now();
  const { pair, episodes, bytes } = await planTrial(store, { run, ...request });
  const scale = store.returnScale(run);
  if (scale === null) {
    throw new C3Error('input', `The range of returns of run ${run} is not known, so that nothing can be compared.`);
  }
  for (const cost of estimateTrialCosts(store, run, { episodes: countEpisodes(budget), bytes }, pair.costed)) {
    onRemark(describeCost(cost));
  }
  await using opened = await pair.open(session, onRemark);
  const { evaluator, variants, servers } = opened;
  const [{ protocol }] = variants;
  const { places, calls } =
    message === undefined
      ? { places: toPlaces(episodes), calls: 0 }
      : await readPlace(session, message, variants[0], evaluator);
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
    variants,
    budget,
    { ...control, onRemark, signal },
  );
  const failure = opened.failure?.() ?? null;
  if (found.difference.n === 0 && failure !== null) {
    throw failure;
  }
  const unseeded = protocol.roles
    .map(({ name }) => name)
    .filter((role) => variants.some(({ policy }) => !hasSeeds(policy, role)));
  const trial = {
    ...found,
    ...(message !== undefined && { message }),
    ...(only.length > 0 && { only }),
    ...(unseeded.length > 0 && { unseeded }),
    ...(servers !== undefined && { servers }),
    evaluatorCalls: found.evaluatorCalls + calls,
    seconds: (performance.now() - began) / 1000,
  };
  return { ...trial, sentence: writeTrialSentence(trial) };
}

/**
 * Returns the highest server costs of a trial, both sides together, without sending requests.
 * @throws as tryChange
 */
export async function estimateChangeCosts(store: StoreReader, request: TrialParams): Promise<readonly EndpointCost[]> {
  const { pair, bytes } = await planTrial(store, request);
  return estimateTrialCosts(store, request.run, { episodes: countEpisodes(request.budget), bytes }, pair.costed);
}

const countEpisodes = (budget: number): number => Math.floor(budget / 2);

interface PlannedTrial {
  readonly pair: TeamPair;
  /** The held-out episodes whose problems are drawn; none in the context of a message. */
  readonly episodes: readonly HeldOut[];
  /** Most bytes of the text before the first new message. */
  readonly bytes: number;
}

async function planTrial(store: StoreReader, request: TrialParams): Promise<PlannedTrial> {
  const { run, change, message, team, spending } = request;
  checkTeam(store, { run, message: message ?? null }, request);
  const recipe = parseRecipe(store.runConfig(run), run);
  const episodes = message === undefined ? await readHeldOut(store, request) : [];
  if (team === undefined) {
    if (change.team !== undefined) {
      throw new C3Error(
        'input',
        `Run ${run} has a team of its own, which team= cannot replace; change it by its keys.`,
      );
    }
    const bytes =
      message === undefined
        ? Math.max(...episodes.map(({ problem: { question } }) => Buffer.byteLength(question)))
        : countContextBytes(store, store.fullMessage(message));
    return { pair: planOwnTeams(recipe, change, spending), episodes, bytes };
  }
  const before = await readTeam(team);
  const after = change.team === undefined ? before : await readTeam(change.team);
  // The program's own words are known from its recording alone.
  const read = message === undefined ? episodes.map(({ leaf }) => leaf) : [message];
  const bytes = Math.max(...read.map((one) => countContextBytes(store, store.fullMessage(one))));
  const [of = message ?? 0] = read;
  const firsts = episodes.map(({ leaf, problem }) => ({
    problem,
    context: store.fullMessage(store.chain(leaf)[0]?.id ?? leaf).context,
  }));
  const pair = planRecordedTeams({ run, recipe, of, firsts }, { before, after }, change, spending);
  return { pair, episodes, bytes };
}

/** Returns one place for each problem. */
const toPlaces = (episodes: readonly HeldOut[]): Branch[] =>
  [...new Map(episodes.map(({ problem }) => [problem.uidSha, problem])).values()].map((problem) => ({
    problem,
    message: null,
  }));

/** Returns the context of a message as a place, and the evaluator calls for the messages before it. */
async function readPlace(
  { store, signal }: RunSession,
  of: number,
  variant: Variant,
  evaluator: Evaluator,
): Promise<{ readonly places: readonly Branch[]; readonly calls: number }> {
  const { protocol } = variant;
  const place = await readFrozenBranch(placeMessage(variant, store.fullMessage(of)), { store, ...variant }, signal);
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

/** An episode of the last evaluation, or of a recording. */
interface HeldOut extends Selectable {
  readonly problem: Problem;
  readonly leaf: number;
}

/** Returns the episodes whose problems a trial draws. @throws C3Error('input') if there is none */
async function readHeldOut(
  store: StoreReader,
  { run, problems: asked, only = [] }: Pick<TrialParams, 'run' | 'problems' | 'only'>,
): Promise<readonly HeldOut[]> {
  const { episodes, scale } = requireLastEvaluation(store, run);
  const chosen = episodes.filter(({ return: value }) => asked === 'all' || (value !== null && isLost(value, scale)));
  if (chosen.length === 0) {
    throw new C3Error('input', `Run ${run} lost no episode of its last evaluation; try the change on all problems.`);
  }
  const selectable = chosen.map(({ leaf, problem }): HeldOut => ({
    leaf,
    problem: store.problem(problem),
    messages: only.length === 0 ? [] : store.chain(leaf).map(({ id }) => id),
  }));
  const marks = only.length === 0 ? NO_MARKS : await readMarks(store, run);
  return selectEpisodes(selectable, only, marks, `${asked === 'lost' ? 'lost ' : ''}episode of the last evaluation`);
}

/** Finds what loses the episodes of a run: samples all a little, then the promising ones further. */

import { setImmediate } from 'node:timers/promises';
import { openStream, uniform } from '../../credit/counter.ts';
import { ENOUGH_TOGETHER, fitCurves } from '../../credit/pooledCurves.ts';
import {
  toCurveCounts,
  decideAlone,
  decideTogether,
  isReadEvenly,
  measureLosses,
  type CurveVerdict,
  type EpisodeSamples,
} from '../../credit/valueCurve.ts';
import {
  READ_TOGETHER,
  RUN_BLAME_BUDGET,
  writeRunBlameSentence,
  type BlamedEpisode,
  type RunBlame,
} from '../../domain/answer.ts';
import { IMPORTED, type Episode } from '../../domain/episode.ts';
import { listEvaluations, RECORDED_ROUND } from '../../domain/evaluation.ts';
import { lossSortKey, type LostProblemRow, type Problem } from '../../domain/problem.ts';
import type { Selection } from '../../domain/selection.ts';
import { isLost, type ReturnScale } from '../../shared/credit/returns.ts';
import { describeCost, type EndpointCost } from '../../shared/endpointCost.ts';
import { C3Error } from '../../shared/errors.ts';
import type { RunBlameParams } from '../../shared/protocols/engineProtocol.ts';
import type { StoreReader } from '../../store/types.ts';
import { RunSession, type Engine } from '../session/session.ts';
import {
  countPairCalls,
  checkBudget,
  checkTeam,
  describeHandScores,
  readLostEpisode,
  PAIRS_AT_A_TIME,
  onlyOnce,
  samplePairs,
  samplePairsTogether,
  estimateSearchCosts,
  readStoredSamples,
  toBlame,
  type AskedTeam,
  type LostEpisode,
  type Sampling,
} from './blame.ts';
import { divideLosses, listLossDivisions, type RunMarks } from './divideLosses.ts';
import { readMarks } from './runMarks.ts';
import { selectEpisodes, type Selectable } from './selectEpisodes.ts';

/** Share of the budget that samples all episodes equally. The rest goes to the promising ones. */
const EVEN_PART = 0.75;
/** Pairs of each message that an episode gets. A small budget samples a random part of the episodes. */
const PAIRS = { least: 4, most: 16 } as const;
/** Most evaluator calls for an undecided episode, including those of the equal part. */
const MOST_PER_EPISODE = 160;
/** Messages that are sampled at the same time: enough to keep batches full, few enough to cancel soon. */
const MESSAGES_TOGETHER = 8;
/** Most episodes in the report. */
const MOST_CASES = 10;
/** Episodes of an evaluation that one query reads. */
const PAGE = 500;

export interface RunBlameControl {
  readonly signal: AbortSignal;
  /** Called after every episode with the evaluator calls spent so far. */
  readonly onProgress: (evaluatorCalls: number, budget: number) => void;
  readonly onRemark?: (remark: string) => void;
}

/** Failed episodes of a recording after which the search stops, if none has succeeded. */
const MOST_FAILURES = 3;

/**
 * Searches the lost episodes of a run's last evaluation, or of a recording whose team is named.
 * Three quarters of the budget sample each message of each episode equally often, or of a random
 * part of the episodes, so that the shares of the roles are unbiased. The rest goes to undecided
 * episodes, first to those with the largest losses.
 * @throws C3Error('input') for a run without a scored evaluation, a team whose messages cannot be
 *   replayed, or a selection without episodes; CancelledError, keeping the stored replays
 */
export async function findWhatLosesRun(
  engine: Engine,
  { run, budget, only = [], ...asked }: RunBlameParams,
  control: RunBlameControl,
): Promise<RunBlame> {
  const began = performance.now();
  const onRemark = onlyOnce(control.onRemark);
  const { greedy, marks, lost, tooLong } = await findSearchedEpisodes(engine, { run, budget, only, ...asked });
  if (greedy) {
    onRemark('The episodes were recorded greedily; they are read at the sampling temperature of the run.');
  }
  const byHand = describeHandScores(lost.map(({ episode }) => episode));
  if (byHand !== null) {
    onRemark(byHand);
  }
  for (const cost of await estimateLostCosts(engine, budget, lost)) {
    onRemark(describeCost(cost));
  }
  const work = { what: `search of what loses run ${run}`, run, hasParts: true, limit: asked.spending };
  await using session = await RunSession.open(engine, work, control.signal);
  let spent = 0;
  const spend = (calls: number): void => {
    spent += calls;
    control.onProgress(spent, budget);
  };
  const { read, pairs } = planEvenSamples(lost, budget * EVEN_PART);
  const search = new Search(session, { signal: control.signal, onRemark }, spend);
  await search.sample(read.map(({ episode }) => listMissingPairs(session.store, episode, pairs)));
  search.checkSome();
  // Leave out episodes whose replays could not all be scored: a failed evaluator is not a loss.
  const scored = read.flatMap((one) => {
    const losses = measureLosses(readStoredSamples(session.store, one.episode), pairs);
    return losses === null ? [] : [{ ...one, losses }];
  });
  const worth = scored.toSorted((a, b) => sumLosses(b) - sumLosses(a));
  // Stop when a pass changes nothing: equal messages may cost no calls, and unscored pairs add none.
  const done = (): number => worth.reduce((sum, { episode }) => sum + countStoredCalls(session.store, episode), spent);
  for (let last = -1; last !== done();) {
    last = done();
    let left = budget - spent;
    const open = (await decideStored(session.store, worth)).flatMap(({ episode, found }): Sampling[] => {
      const message = found.next === null ? undefined : episode.messages[found.next];
      const calls = message === undefined ? 0 : countPairCalls(episode, message, PAIRS_AT_A_TIME);
      const isOpen = message !== undefined && countStoredCalls(session.store, episode) + calls <= MOST_PER_EPISODE;
      if (!isOpen || calls > left) {
        return [];
      }
      left -= calls;
      return [{ episode, message, pairs: PAIRS_AT_A_TIME }];
    });
    await search.sample(open.map((one) => [one]));
  }
  const blamed = await blameStored(session.store, scored);
  return toRunBlame({
    run,
    only,
    marks,
    lost: lost.length,
    tooLong,
    masked: read.length - scored.length,
    blamed,
    spent,
    seconds: (performance.now() - began) / 1000,
  });
}

/**
 * Returns the highest server costs of a search of a run, without sending requests.
 * @throws as findWhatLosesRun
 */
export async function estimateRunBlameCosts(engine: Engine, request: RunBlameParams): Promise<readonly EndpointCost[]> {
  const { lost } = await findSearchedEpisodes(engine, request);
  return estimateLostCosts(engine, request.budget, lost);
}

/**
 * Returns the episodes that a search of a run reads.
 * @throws as findWhatLosesRun
 */
async function findSearchedEpisodes(
  engine: Engine,
  { run, budget, only = [], ...asked }: RunBlameParams,
): Promise<ReturnType<typeof selectLost> & { readonly greedy: boolean; readonly marks: RunMarks }> {
  checkBudget(budget, RUN_BLAME_BUDGET);
  const all = engine.work.reading((store) => {
    checkTeam(store, { run, message: null }, asked);
    return findLostEpisodes(store, run, asked);
  });
  const marks = await engine.work.readingOn((store) => readMarks(store, run));
  return { greedy: all.greedy, marks, ...selectLost(all, only, marks) };
}

const estimateLostCosts = (engine: Engine, budget: number, lost: readonly Lost[]): Promise<readonly EndpointCost[]> =>
  estimateSearchCosts(
    engine,
    budget,
    lost.map(({ episode }) => episode),
  );

/**
 * Samples the episodes of a run. A program and its team file may not fit every recorded episode. An
 * episode that fails is reported, and counts as one that could not be scored.
 */
class Search {
  private readonly session: RunSession;
  private readonly control: Required<Pick<RunBlameControl, 'signal' | 'onRemark'>>;
  private readonly spend: (calls: number) => void;
  private failures = 0;
  private successes = 0;
  private reason: C3Error | null = null;

  /** @param spend receives the evaluator calls of each part */
  constructor(
    session: RunSession,
    control: Required<Pick<RunBlameControl, 'signal' | 'onRemark'>>,
    spend: (calls: number) => void,
  ) {
    this.session = session;
    this.control = control;
    this.spend = spend;
  }

  /**
   * Samples pairs of several episodes: of several messages together, or one after another if a
   * program determines what follows them.
   * @throws the first error if the run has its own team, or the first few recorded episodes all
   *   failed; CancelledError
   */
  async sample(episodes: readonly (readonly Sampling[])[]): Promise<void> {
    const { session, control } = this;
    if (session.isImported) {
      for (const samplings of episodes) {
        await this.sampleRecorded(samplings);
      }
      return;
    }
    const all = episodes.flat();
    for (let from = 0; from < all.length; from += MESSAGES_TOGETHER) {
      this.spend(await samplePairsTogether(session, all.slice(from, from + MESSAGES_TOGETHER), control));
    }
  }

  private async sampleRecorded(samplings: readonly Sampling[]): Promise<void> {
    try {
      for (const sampling of samplings) {
        this.spend(await samplePairs(this.session, sampling, this.control));
      }
      this.successes++;
    } catch (error) {
      if (!(error instanceof C3Error) || error.kind === 'budget' || error.kind === 'store') {
        throw error;
      }
      this.reason ??= error;
      this.failures++;
      if (this.failures >= MOST_FAILURES) {
        this.checkSome();
      }
      this.control.onRemark(`An episode is left out: ${error.message}`);
    }
  }

  /** @throws the first error, if every episode failed */
  checkSome(): void {
    if (this.reason !== null && this.successes === 0) {
      throw this.reason;
    }
  }
}

/** A lost episode with its problem. */
export interface Lost {
  readonly problem: Problem;
  readonly episode: LostEpisode;
}

interface Scored extends Lost {
  /** Loss by message as a share of the return range; negative if the message raised the chance. */
  readonly losses: readonly number[];
}

type Blamed = Scored & { readonly found: BlamedEpisode };

/**
 * Reads the verdicts of stored replays on the lost problems of a run's last evaluation. Problems
 * without replays are left out. If a problem has several lost episodes, the clearest one counts.
 * @returns an empty list for a run without a scored evaluation
 * @throws C3Error('input') for an unknown run
 */
export async function readLostProblems(store: StoreReader, run: string): Promise<LostProblemRow[]> {
  const rows = (await readBlamed(store, run)).flatMap((one) => toLostProblemRow(one) ?? []);
  return [...Map.groupBy(rows, ({ problem }) => problem).values()].flatMap(
    (of) => of.toSorted((a, b) => lossSortKey(b) - lossSortKey(a))[0] ?? [],
  );
}

/**
 * Reads the verdicts of stored replays on each lost episode that has replays.
 * @returns an empty list for a run without a scored evaluation
 * @throws C3Error('input') for an unknown run
 */
export async function readBlamed(
  store: StoreReader,
  run: string,
): Promise<(Lost & { readonly found: BlamedEpisode })[]> {
  const evaluated = findLastEvaluation(store, run);
  const searched: Lost[] = [];
  for (const one of evaluated === null ? [] : listLostEpisodes(store, evaluated)) {
    await setImmediate();
    if (readStoredSamples(store, one.episode).messages.some(({ pairs }) => pairs.length > 0)) {
      searched.push(one);
    }
  }
  return blameStored(store, searched);
}

/** Returns the row of a lost problem, as shares of the highest return, or null without a start. */
function toLostProblemRow({
  problem,
  episode,
  found,
}: Lost & { readonly found: BlamedEpisode }): LostProblemRow | null {
  const { verdict, start, role, drop } = found;
  const share = (value: number): number => value / episode.range.high;
  return (
    start && {
      problem: problem.uidSha,
      verdict,
      start: { value: share(start.value), low: share(start.low), high: share(start.high), n: start.n },
      role,
      drop: drop === null ? null : share(drop),
    }
  );
}

/** Returns the findings of episodes from all their stored pairs. Gives other requests their turn. */
async function blameStored<Of extends Lost>(
  store: StoreReader,
  lost: readonly Of[],
): Promise<(Of & { readonly found: BlamedEpisode })[]> {
  const blamed: (Of & { readonly found: BlamedEpisode })[] = [];
  for (const one of await decideStored(store, lost)) {
    await setImmediate();
    blamed.push({ ...one, found: toBlamedEpisode(store, one) });
  }
  return blamed;
}

interface Decided {
  readonly samples: EpisodeSamples;
  readonly found: CurveVerdict;
  /** True if the other episodes helped to decide it. */
  readonly together: boolean;
}

/** Decides episodes by their stored pairs, all of them together if there are enough. */
async function decideStored<Of extends Lost>(store: StoreReader, lost: readonly Of[]): Promise<(Of & Decided)[]> {
  const read = lost.map((one) => {
    const samples = readStoredSamples(store, one.episode);
    const names = one.episode.messages.map(({ role, turn }) => `${role} ${turn}`);
    return { one, samples, counts: toCurveCounts(samples, names) };
  });
  const model = fitCurves(read.map(({ counts }) => counts));
  const together = model.episodes >= ENOUGH_TOGETHER;
  const decided: (Of & Decided)[] = [];
  for (const { one, samples, counts } of read) {
    await setImmediate();
    decided.push({ ...one, samples, found: together ? decideTogether(model, counts) : decideAlone(samples), together });
  }
  return decided;
}

/** A lost episode; `episode` is null if it is too long for a search. */
type AnyLost = Selectable & { readonly problem: Problem; readonly episode: LostEpisode | null };

function findLostEpisodes(
  store: StoreReader,
  run: string,
  asked: AskedTeam,
): { readonly all: readonly AnyLost[]; readonly greedy: boolean } {
  const evaluated = requireLastEvaluation(store, run);
  const all = evaluated.episodes
    .filter((one) => wasLost(one, evaluated))
    .map(({ leaf, problem }) => {
      const episode = readLostEpisode(store, leaf, asked);
      const messages = (episode?.messages ?? store.chain(leaf)).map(({ id }) => id);
      return { problem: store.problem(problem), messages, episode };
    });
  return { all, greedy: evaluated.greedy };
}

/** Returns the selected episodes, and the number of selected ones that are too long for a search. */
function selectLost(
  { all }: { readonly all: readonly AnyLost[] },
  only: Selection,
  marks: RunMarks,
): { readonly lost: readonly Lost[]; readonly tooLong: number } {
  const selected = selectEpisodes(all, only, marks, 'lost episode of the last evaluation');
  const lost = selected.flatMap(({ problem, episode }) => (episode === null ? [] : [{ problem, episode }]));
  return { lost, tooLong: selected.length - lost.length };
}

const wasLost = ({ return: value }: Episode, { scale }: Evaluated): boolean => value !== null && isLost(value, scale);

/** Returns the lost episodes that are not too long for a search. */
const listLostEpisodes = (store: StoreReader, evaluated: Evaluated): Lost[] =>
  evaluated.episodes
    .filter((one) => wasLost(one, evaluated))
    .flatMap(({ leaf, problem }): Lost[] => {
      const episode = readLostEpisode(store, leaf);
      return episode === null ? [] : [{ problem: store.problem(problem), episode }];
    });

/** The episodes of a run's last evaluation. */
export interface Evaluated {
  readonly episodes: readonly Episode[];
  readonly greedy: boolean;
  readonly scale: ReturnScale;
}

/**
 * Returns the episodes of the last evaluation, of the greedy one if there is one.
 * @throws C3Error('input') for a run without a scored evaluation
 */
export function requireLastEvaluation(store: StoreReader, run: string): Evaluated {
  const found = findLastEvaluation(store, run);
  if (found === null) {
    throw new C3Error(
      'input',
      `Run ${run} has no evaluation whose episodes were scored, so that nothing is known to be lost; choose another run.`,
    );
  }
  return found;
}

/** Like requireLastEvaluation, but null without a scored evaluation. A recording is one evaluation. */
function findLastEvaluation(store: StoreReader, run: string): Evaluated | null {
  const record = store.run(run);
  const scale = store.returnScale(run);
  if (record.method === IMPORTED) {
    const episodes = scale === null ? [] : readEvaluationEpisodes(store, run, RECORDED_ROUND.iteration);
    return scale !== null && episodes.some((one) => one.return !== null) ? { episodes, greedy: false, scale } : null;
  }
  const evaluations = listEvaluations(record, store.evaluations(run)).filter(({ result }) => result !== null);
  const last = Math.max(...evaluations.map(({ step }) => step));
  const evaluation =
    evaluations.findLast(({ step, kind }) => step === last && kind === 'greedy') ??
    evaluations.findLast(({ step }) => step === last);
  if (evaluation === undefined || scale === null) {
    return null;
  }
  const { iteration, kind } = evaluation;
  return { episodes: readEvaluationEpisodes(store, run, iteration), greedy: kind === 'greedy', scale };
}

function readEvaluationEpisodes(store: StoreReader, run: string, iteration: number): Episode[] {
  const episodes: Episode[] = [];
  for (let offset = 0; ; offset += PAGE) {
    const page = store.episodes({ run, phase: 'evaluate', iteration, offset, limit: PAGE });
    episodes.push(...page);
    if (page.length < PAGE) {
      return episodes;
    }
  }
}

/**
 * Returns the episodes to sample and the pairs of each of their messages: the most that the calls
 * allow, independent of what is stored already.
 * @throws C3Error('input') if the calls do not allow one pair of each message of one episode
 */
function planEvenSamples(
  lost: readonly Lost[],
  calls: number,
): { readonly read: readonly Lost[]; readonly pairs: number } {
  const costOf = ({ episode }: Lost, each: number): number =>
    episode.messages.reduce(
      (sum, message, place) => sum + (isReadEvenly(place) ? countPairCalls(episode, message, each) : 0),
      0,
    );
  // A random order that depends only on the episodes.
  const drawn = lost.toSorted((a, b) => drawNumber(a) - drawNumber(b));
  const [first] = drawn;
  if (first === undefined) {
    return { read: [], pairs: 0 };
  }
  const reach = (each: number): number => drawn.reduce((sum, one) => sum + costOf(one, each), 0);
  let pairs: number = PAIRS.most;
  while (pairs > PAIRS.least && reach(pairs) > calls) {
    pairs--;
  }
  while (pairs > 0 && costOf(first, pairs) > calls) {
    pairs--;
  }
  if (pairs === 0) {
    throw new C3Error(
      'input',
      `The budget does not reach one lost episode; give at least ${Math.ceil(costOf(first, 1) / EVEN_PART)} evaluator calls.`,
    );
  }
  let left = calls;
  return { read: drawn.filter((one) => (left -= costOf(one, pairs)) >= 0), pairs };
}

const drawNumber = ({ episode }: Lost): number => uniform(openStream(episode.leaf, 0), 0);

/** Lists the pairs that the messages of an episode lack. */
function listMissingPairs(store: StoreReader, episode: LostEpisode, pairs: number): Sampling[] {
  const { messages } = readStoredSamples(store, episode);
  return episode.messages.flatMap((message, index) => {
    const missing = pairs - (messages[index]?.pairs.length ?? 0);
    return isReadEvenly(index) && missing > 0 ? [{ episode, message, pairs: missing }] : [];
  });
}

const sumLosses = ({ losses }: Scored): number => losses.reduce((sum, one) => sum + one, 0);

/** Counts the evaluator calls of all stored pairs of an episode. */
function countStoredCalls(store: StoreReader, episode: LostEpisode): number {
  const { messages } = readStoredSamples(store, episode);
  return episode.messages.reduce((sum, message, index) => {
    const { length } = messages[index]?.pairs ?? [];
    return length === 0 ? sum : sum + countPairCalls(episode, message, length);
  }, 0);
}

function toBlamedEpisode(
  store: StoreReader,
  { problem, episode, samples, found, together }: Lost & Decided,
): BlamedEpisode {
  const blame = toBlame(store, episode, samples, found, countStoredCalls(store, episode));
  const at = blame.curve.find(({ message }) => message !== null && message === blame.message);
  return {
    episode: blame.episode,
    verdict: blame.verdict,
    message: blame.message,
    role: at?.role ?? null,
    drop: at?.drop?.value ?? null,
    start: blame.curve[0] ?? null,
    question: problem.question,
    sentence: `${blame.sentence}${together ? READ_TOGETHER : ''}`,
  };
}

function toRunBlame(known: {
  readonly run: string;
  readonly only: Selection;
  readonly marks: RunMarks;
  readonly lost: number;
  readonly tooLong: number;
  readonly masked: number;
  readonly blamed: readonly Blamed[];
  readonly spent: number;
  readonly seconds: number;
}): RunBlame {
  const { run, only, marks, lost, tooLong, masked, blamed, spent, seconds } = known;
  const found = blamed.map((one) => one.found);
  const count = (verdict: BlamedEpisode['verdict']): number => found.filter((one) => one.verdict === verdict).length;
  const named = found.filter(({ verdict }) => verdict === 'message');
  const { withinReach, parts: roles } = divideLosses(blamed, lost, 'role', marks);
  const report = {
    run,
    ...(only.length > 0 && { only }),
    lost,
    tooLong,
    read: blamed.length,
    masked,
    withinReach,
    roles: roles.map(({ name: role, share, episodes }) => ({ role, share, episodes })),
    divisions: listLossDivisions(blamed, lost, marks),
    decided: named.length,
    several: count('several'),
    undecided: count('undecided'),
    rarelySolved: count('rare'),
    nothingLost: count('won'),
    cases: named.toSorted((a, b) => (a.drop ?? 0) - (b.drop ?? 0)).slice(0, MOST_CASES),
    evaluatorCalls: spent,
    seconds,
  };
  return { ...report, sentence: writeRunBlameSentence(report) };
}

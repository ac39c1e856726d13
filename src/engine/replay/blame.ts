/** Finds the message that lost an episode. Samples where the continuations separate the candidates. */

import {
  estimateCallsToDecide,
  estimateCurve,
  decideAlone,
  NOTHING_LOST,
  estimateDrop,
  type CurveVerdict,
  type EpisodeSamples,
} from '../../credit/valueCurve.ts';
import { BLAME_BUDGET, writeBlameSentence, type Blame, type Remedy } from '../../domain/answer.ts';
import { BY_HAND, IMPORTED } from '../../domain/episode.ts';
import type { Message } from '../../domain/message.ts';
import type { Replay, ReplayResult } from '../../domain/replay.ts';
import type { OpenReplay } from '../../replay/replayMessage.ts';
import type { ReplayControl } from '../../replay/request.ts';
import { isLost, type ReturnScale } from '../../shared/credit/returns.ts';
import { describeCost, type EndpointCost } from '../../shared/endpointCost.ts';
import { C3Error } from '../../shared/errors.ts';
import { Holds } from '../../shared/holds.ts';
import type { BlameParams } from '../../shared/protocols/engineProtocol.ts';
import { readEpisodeThrough } from '../../shared/transcript/episodeThrough.ts';
import type { StoreReader } from '../../store/types.ts';
import { isTerminal, type Protocol } from '../../team/protocol.ts';
import { parseRecipe, parseRecipeProtocol } from '../recipe/recipe.ts';
import { RunSession, type Engine } from '../session/session.ts';
import { findHighestCosts, openOwnReplay, replayStored } from './replay.ts';
import type { EngineReplay } from './settling.ts';

/** Pairs in one request. */
export const PAIRS_AT_A_TIME = 8;
/** Most messages of an episode that is searched, because each message needs its own samples. */
const MOST_MESSAGES = 200;
/** Buckets of one context that one query reads. */
const PAGE = 500;

export interface BlameControl {
  readonly signal: AbortSignal;
  /** Called before each request with the findings so far. */
  readonly onProgress: (blame: Blame) => void;
  readonly onRemark?: (remark: string) => void;
}

/**
 * Samples pairs of the messages of a lost episode until one message or several are known to have
 * lost it, until the team is known to solve the problem rarely, or until the budget is spent. Pairs
 * are stored as buckets of replays, so that a later search continues from them.
 * @throws C3Error('input') for an episode that was not scored; CancelledError, keeping the stored
 *   pairs
 */
export async function findWhatLost(engine: Engine, request: BlameParams, control: BlameControl): Promise<Blame> {
  const { message, budget, ...asked } = request;
  checkBudget(budget, BLAME_BUDGET);
  const { episode, greedy } = engine.work.reading((store) => {
    checkTeam(store, { run: store.messageRun(message), message }, asked);
    const found = readLostEpisode(store, message, asked);
    // Recordings do not store the temperature.
    const isKnown = found !== null && asked.team === undefined;
    return { episode: found, greedy: isKnown && store.fullMessage(found.leaf).sampling.temperature === 0 };
  });
  if (episode === null) {
    throw new C3Error(
      'input',
      `The episode of message ${message} has more than ${MOST_MESSAGES} messages, which a search does not take.`,
    );
  }
  if (greedy) {
    control.onRemark?.('The episode was recorded greedily; it is read at the sampling temperature of its run.');
  }
  const byHand = describeHandScores([episode]);
  if (byHand !== null) {
    control.onRemark?.(byHand);
  }
  for (const cost of await estimateSearchCosts(engine, budget, [episode])) {
    control.onRemark?.(describeCost(cost));
  }
  const { leaf, run } = episode;
  const work = { what: `search of what lost episode ${leaf}`, run, hasParts: true, limit: asked.spending };
  await using session = await RunSession.open(engine, work, control.signal);
  return await searchEpisode(session, episode, budget, { ...control, onRemark: onlyOnce(control.onRemark) });
}

/**
 * Returns the highest server costs of a search of an episode, without sending requests.
 * @throws as findWhatLost
 */
export async function estimateBlameCosts(
  engine: Engine,
  { message, budget, ...asked }: BlameParams,
): Promise<readonly EndpointCost[]> {
  checkBudget(budget, BLAME_BUDGET);
  const episode = engine.work.reading((store) => {
    checkTeam(store, { run: store.messageRun(message), message }, asked);
    return readLostEpisode(store, message, asked);
  });
  return episode === null ? [] : estimateSearchCosts(engine, budget, [episode]);
}

/**
 * Returns the highest server costs of a recorded team, as if the first message of one episode took
 * the whole budget. Empty for a run with its own team, because each replay reports its costs.
 */
export async function estimateSearchCosts(
  { work }: Engine,
  budget: number,
  episodes: readonly Pick<LostEpisode, 'messages' | 'asked'>[],
): Promise<readonly EndpointCost[]> {
  const pairs = Math.max(1, Math.floor(budget / 2));
  const requests = episodes.flatMap(({ messages: [first], asked }) =>
    asked.team === undefined || first === undefined
      ? []
      : [{ message: first.id, alternatives: pairs, replays: 1, text: null, design: 'paired' as const, ...asked }],
  );
  return findHighestCosts(work, requests);
}

/**
 * Checks the named team.
 * @throws C3Error('input') if a recorded episode has no team to continue it, or a run with its own
 *   team gets another
 */
export function checkTeam(
  store: StoreReader,
  { run, message }: { readonly run: string; readonly message: number | null },
  { team }: AskedTeam,
): void {
  const isImported = store.run(run).method === IMPORTED;
  if (isImported && team === undefined) {
    const what = message === null ? `Run ${run}` : `The episode of message ${message}`;
    throw new C3Error(
      'input',
      `${what} was recorded elsewhere: only its program knows what follows another message. Give --team FILE, which names the program's driver and the servers that answer, or what \`c3 infer ${message === null ? 'MESSAGE' : String(message)}\` writes.`,
    );
  }
  if (!isImported && team !== undefined) {
    throw new C3Error('input', `Run ${run} has a team of its own, so --team does not apply; omit it.`);
  }
}

/** @throws C3Error('input') if the budget is not a whole number within the bounds */
export function checkBudget(budget: number, { least, most }: { readonly least: number; readonly most: number }): void {
  if (!Number.isInteger(budget) || budget < least || budget > most) {
    throw new C3Error(
      'input',
      `The budget is a whole number of evaluator calls from ${least} to ${most.toLocaleString('en-US')}.`,
    );
  }
}

/** Returns a function that passes each remark on once, because every replay of a search repeats them. */
export function onlyOnce(onRemark: ((remark: string) => void) | undefined): (remark: string) => void {
  const said = new Set<string>();
  return (remark) => {
    if (!said.has(remark)) {
      said.add(remark);
      onRemark?.(remark);
    }
  };
}

/** Samples pairs until the verdict will not change, or the budget is spent. */
async function searchEpisode(
  session: RunSession,
  episode: LostEpisode,
  budget: number,
  control: BlameControl,
): Promise<Blame> {
  let spent = 0;
  for (;;) {
    const { blame, next } = decideEpisode(session.store, episode, spent);
    const message = next === null ? undefined : episode.messages[next];
    const pairs =
      message === undefined ? 0 : Math.min(PAIRS_AT_A_TIME, countAllowedPairs(episode, message, budget - spent));
    if (message === undefined || pairs < 1) {
      return blame;
    }
    control.onProgress(blame);
    // Equal messages may cost no calls; count at least one so that the loop ends.
    spent += (await samplePairs(session, { episode, message, pairs }, control)) || 1;
  }
}

/** Most evaluator calls of pairs of a message. A terminal message itself is evaluated once. */
export const countPairCalls = ({ isTerminal }: LostEpisode, message: Message, pairs: number): number =>
  isTerminal(message) ? pairs + 1 : 2 * pairs;

/** Most pairs of a message that a number of evaluator calls allows. */
const countAllowedPairs = ({ isTerminal }: LostEpisode, message: Message, calls: number): number =>
  isTerminal(message) ? calls - 1 : Math.floor(calls / 2);

/** Pairs of a message that a search samples. */
export interface Sampling {
  readonly episode: LostEpisode;
  readonly message: Message;
  readonly pairs: number;
}

type SamplingControl = Pick<BlameControl, 'signal' | 'onRemark'>;

/** Samples pairs of a message and stores them. @returns the evaluator calls that were spent */
export async function samplePairs(session: RunSession, sampling: Sampling, control: SamplingControl): Promise<number> {
  return sumCalls(await replayStored(session, toPairsRequest(sampling), toReplayControl(sampling, control)));
}

/**
 * Samples pairs of several messages of a run with its own team at the same time, so that they share
 * batches. The results are the same as one after another.
 * @returns the evaluator calls that were spent
 * @throws the first error once all have ended, keeping the stored pairs
 */
export async function samplePairsTogether(
  session: RunSession,
  samplings: readonly Sampling[],
  control: SamplingControl,
): Promise<number> {
  await using holds = new Holds();
  const opened: OpenReplay[] = [];
  for (const sampling of samplings) {
    const opening = openOwnReplay(session, toPairsRequest(sampling), toReplayControl(sampling, control));
    opened.push(await holds.take(opening));
  }
  const ended = await Promise.allSettled(opened.map((one) => one.execute()));
  return ended.reduce((sum, one) => {
    if (one.status === 'rejected') {
      throw one.reason;
    }
    return sum + sumCalls(one.value);
  }, 0);
}

const toPairsRequest = ({ episode, message, pairs }: Sampling): EngineReplay => ({
  message: message.id,
  alternatives: pairs,
  replays: 1,
  text: null,
  design: 'paired',
  ...episode.asked,
});

/** Returns the control of one sampling. The costs of a recorded team were reported for the whole search. */
const toReplayControl = ({ episode }: Sampling, { signal, onRemark }: SamplingControl): ReplayControl => ({
  signal,
  onProgress: () => undefined,
  due: () => false,
  ...(onRemark !== undefined && episode.asked.team === undefined && { onRemark }),
});

const sumCalls = ({ alternatives }: ReplayResult): number =>
  alternatives.reduce((sum, { evaluatorCalls }) => sum + evaluatorCalls, 0);

/** Returns the remark for episodes that the user scored, or null if there are none. */
export function describeHandScores(episodes: readonly Pick<LostEpisode, 'messages'>[]): string | null {
  const count = episodes.filter(({ messages }) => messages.at(-1)?.byHand === true).length;
  return count === 0
    ? null
    : `${count === 1 ? 'The episode was' : `${count} episodes were`} ${BY_HAND}; ` +
        'replays are scored by the evaluator.';
}

/** The team that continues a recorded episode, and its spending limit. */
export type AskedTeam = Pick<BlameParams, 'team' | 'teamHash' | 'spending'>;

export interface LostEpisode {
  readonly run: string;
  readonly asked: AskedTeam;
  readonly leaf: number;
  readonly end: number;
  readonly range: ReturnScale;
  readonly messages: readonly Message[];
  readonly isTerminal: (message: Message) => boolean;
  /** Cached pairs by bucket, with the number of replays that the bucket had when it was read. */
  readonly pairsRead: Map<number, { readonly count: number; readonly pairs: readonly StoredPair[] }>;
}

/**
 * Reads the episode through a message for a search.
 * @returns null for an episode with too many messages
 * @throws C3Error('input') if it cannot be searched
 */
export function readLostEpisode(store: StoreReader, message: number, asked: AskedTeam = {}): LostEpisode | null {
  const messages = readEpisodeThrough(store, message);
  const last = messages.at(-1);
  if (last === undefined || last.return === null) {
    throw new C3Error(
      'input',
      `The episode of message ${message} was not scored, so that nothing is known to be lost; choose another one.`,
    );
  }
  if (messages.length > MOST_MESSAGES) {
    return null;
  }
  const isImported = store.run(last.run).method === IMPORTED;
  const range = store.returnScale(last.run);
  if (range === null) {
    throw new C3Error(
      'input',
      `The range of returns of run ${last.run} is not known, so that no chance can be estimated.`,
    );
  }
  const protocol: Protocol = parseRecipeProtocol(parseRecipe(store.runConfig(last.run), last.run));
  return {
    run: last.run,
    asked,
    leaf: last.id,
    end: last.return,
    range,
    messages,
    // A program may do something after its last message that changes the return.
    isTerminal: ({ position }) => !isImported && isTerminal(protocol, position),
    pairsRead: new Map(),
  };
}

interface Looked {
  readonly blame: Blame;
  /** The place to sample next; null if the verdict will not change. */
  readonly next: number | null;
}

/** Reads the stored pairs of an episode's messages. */
export function readStoredSamples(store: StoreReader, episode: LostEpisode): EpisodeSamples {
  const { range, end, messages, isTerminal } = episode;
  return {
    range,
    end,
    messages: messages.map((message) => ({
      pairs: readStoredPairs(store, episode, message).map(({ returns }) => returns),
      terminal: isTerminal(message),
    })),
  };
}

/** Decides an episode by its stored pairs. */
export function decideEpisode(store: StoreReader, episode: LostEpisode, evaluatorCalls: number): Looked {
  const samples = readStoredSamples(store, episode);
  const found = isLost(samples.end, episode.range) ? decideAlone(samples) : NOTHING_LOST;
  return { blame: toBlame(store, episode, samples, found, evaluatorCalls), next: found.next };
}

/** Builds the report of an episode from a verdict. */
export function toBlame(
  store: StoreReader,
  episode: LostEpisode,
  samples: EpisodeSamples,
  found: CurveVerdict,
  evaluatorCalls: number,
): Blame {
  const { leaf, range, messages } = episode;
  const points = estimateCurve(samples);
  const named = found.places.flatMap((at) => messages[at] ?? []);
  const [only] = named;
  const message = found.verdict === 'message' && only !== undefined ? only : null;
  const known = {
    episode: leaf,
    verdict: found.verdict,
    message: message?.id ?? null,
    messages: named.map(({ id }) => id),
    curve: points.map((point, index) => {
      const said = messages[index - 1];
      return {
        ...point,
        message: said?.id ?? null,
        role: said?.role ?? null,
        drop: said === undefined ? null : estimateDrop(samples, index - 1),
      };
    }),
    evaluatorCalls,
    more: found.verdict === 'undecided' ? estimateCallsToDecide(samples, found.places) : null,
    most: range.high,
  };
  return {
    ...known,
    remedy: message === null ? null : findRemedy(store, episode, message),
    sentence: writeBlameSentence(known),
  };
}

/** A fresh message in the place of another, and the returns of both on the same random numbers. */
interface StoredPair {
  /** ID of the fresh message. */
  readonly alternative: number;
  readonly returns: readonly [own: number, fresh: number];
}

/**
 * Reads the pairs of a message, the oldest first, from requests that continued it as recorded. The
 * alternatives of training are left out: the episode was selected by its return there, so they
 * would be biased, unlike fresh continuations.
 */
function readStoredPairs(
  store: StoreReader,
  { end, isTerminal, pairsRead }: LostEpisode,
  message: Message,
): StoredPair[] {
  const terminal = isTerminal(message);
  return listRequestBuckets(store, message).flatMap((bucket) => {
    const replays = store.replaysOfBucket(bucket);
    const { count, pairs } = pairsRead.get(bucket) ?? { count: 0, pairs: [] };
    if (count === replays.length) {
      return pairs;
    }
    const read = readBucketPairs(store, message.id, replays, terminal ? end : null);
    pairsRead.set(bucket, { count: replays.length, pairs: read });
    return read;
  });
}

/** @param end return of the message if its own text determines the return, otherwise null */
function readBucketPairs(store: StoreReader, id: number, replays: readonly Replay[], end: number | null): StoredPair[] {
  const own = new Map(replays.filter(({ alternative }) => alternative === id).map((one) => [one.replayIndex, one]));
  const others = replays.filter(({ alternative }) => alternative !== id);
  const isPaired =
    new Set(others.map(({ alternative }) => alternative)).size === others.length &&
    others.every(({ alternative }) => store.fullMessage(alternative).finish !== 'typed');
  return others.flatMap(({ alternative, replayIndex, return: fresh }): StoredPair[] => {
    const kept = end ?? own.get(replayIndex)?.return ?? null;
    return isPaired && fresh !== null && kept !== null ? [{ alternative, returns: [kept, fresh] }] : [];
  });
}

/** Lists the request buckets of a message that were continued as recorded, the oldest first. */
function listRequestBuckets(store: StoreReader, { id, run, role, contextKey }: Message): number[] {
  const found: number[] = [];
  for (let offset = 0; ; offset += PAGE) {
    const page = store.bucketsOfContext({ run, role, contextKey, offset, limit: PAGE });
    for (const bucket of page) {
      if (bucket.origin === 'request' && bucket.message === id && store.continuationOf(bucket.id) === null) {
        found.push(bucket.id);
      }
    }
    if (page.length < PAGE) {
      return found;
    }
  }
}

/** Returns the text in place of a message that gained most over all samples, or null if none gained. */
function findRemedy(store: StoreReader, episode: LostEpisode, message: Message): Remedy | null {
  const { end } = episode;
  const fresh = readStoredPairs(store, episode, message).map(({ alternative, returns }) => ({
    text: store.fullMessage(alternative).text,
    value: returns[1],
  }));
  const better = [...Map.groupBy(fresh, ({ text }) => text)].flatMap(([text, alike]) => {
    const value = alike.reduce((sum, one) => sum + one.value, 0) / alike.length;
    return text !== message.text && value > end ? [{ text, said: alike.length, of: fresh.length, value }] : [];
  });
  // Frequent texts count more: a text that was sampled once may be luck.
  return better.toSorted((a, b) => b.said * (b.value - end) - a.said * (a.value - end))[0] ?? null;
}

/** Finding which message lost an episode: continuations go where they separate the candidates. */
import {
  callsToDecide,
  curveOf,
  decide,
  dropOf,
  isLost,
  type CurveVerdict,
  type EpisodeSamples,
  type MessageSamples,
} from '../../credit/valueCurve.ts';
import type { ReplayControl, ReplayRequest } from '../../replay/request.ts';
import { episodeThrough } from '../../shared/transcript/episodeThrough.ts';
import { C3Error } from '../../shared/errors.ts';
import type { BlameParams } from '../../shared/protocols/engineProtocol.ts';
import { IMPORTED } from '../../shared/records/logImport.ts';
import { BLAME_BUDGET, blameSentence, type Blame, type Remedy } from '../../shared/records/blame.ts';
import type { Message } from '../../shared/records/records.ts';
import type { ReplayResult } from '../../shared/records/settle.ts';
import type { StoreReader } from '../../store/types.ts';
import { isTerminal, type Protocol } from '../../team/protocol.ts';
import { returnRangeOf } from '../recipe/headlines.ts';
import { parseRecipe, protocolOf } from '../recipe/recipe.ts';

/** Pairs that are asked for at a time. */
const PAIRS = 8;
/** Longer episodes are refused: each message needs samples of its own. */
const MOST_MESSAGES = 200;

/** What the search needs of the engine. */
export interface BlamePlace {
  reading<Result>(work: (store: StoreReader) => Result): Result;
  keeping<Result>(what: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result>;
  replay(request: ReplayRequest, control: ReplayControl): Promise<ReplayResult>;
}

export interface BlameControl {
  readonly signal: AbortSignal;
  /** After every replay that was asked for: what is known by then. */
  readonly onProgress: (blame: Blame) => void;
  readonly onRemark?: (remark: string) => void;
}

/**
 * Samples pairs of the messages of a lost episode until one is known to have lost it, or several, until the team is
 * known to solve the problem rarely, or to the budget. Pairs are stored as buckets of replays: a search that is asked
 * for again goes on from them.
 * @throws C3Error('input') for an episode that was not scored; CancelledError, keeping what arrived
 */
export async function findWhatLost(place: BlamePlace, request: BlameParams, control: BlameControl): Promise<Blame> {
  const { budget } = request;
  if (!Number.isInteger(budget) || budget < BLAME_BUDGET.least || budget > BLAME_BUDGET.most) {
    throw new C3Error(
      'input',
      `The budget is a whole number of evaluator calls from ${String(BLAME_BUDGET.least)} to ${BLAME_BUDGET.most.toLocaleString('en-US')}.`,
    );
  }
  const episode = place.reading((store) => lostEpisode(store, request.message));
  if (place.reading((store) => store.decision(episode.leaf).sampling.temperature) === 0) {
    control.onRemark?.('The episode was recorded greedily; it is read at the sampling temperature of its run.');
  }
  let spent = 0;
  const look = (): Looked => place.reading((store) => lookAt(store, episode, spent));
  return place.keeping(`search of what lost episode ${String(episode.leaf)}`, control.signal, async () => {
    for (;;) {
      const { blame, next } = look();
      const message = next === null ? undefined : episode.messages[next];
      const left = budget - spent;
      const perPair = message !== undefined && episode.isTerminal(message) ? 1 : 2;
      if (message === undefined || left < perPair) {
        return blame;
      }
      control.onProgress(blame);
      const before = spent;
      const { id } = message;
      const bucket = await place.replay(
        {
          message: id,
          alternatives: Math.min(PAIRS, Math.floor(left / perPair)),
          replays: 1,
          text: null,
          design: 'paired',
        },
        {
          signal: control.signal,
          onProgress: () => undefined,
          ...(spent === 0 && control.onRemark !== undefined && { onRemark: control.onRemark }),
        },
      );
      spent += callsOf(bucket);
      if (spent === before) {
        // Everything was known from equal messages: the same would be asked for without an end.
        spent += perPair;
      }
    }
  });
}

const callsOf = ({ alternatives }: ReplayResult): number =>
  alternatives.reduce((sum, { evaluatorCalls }) => sum + evaluatorCalls, 0);

interface LostEpisode {
  readonly leaf: number;
  readonly end: number;
  readonly range: EpisodeSamples['range'];
  readonly messages: readonly Message[];
  readonly isTerminal: (message: Message) => boolean;
}

function lostEpisode(store: StoreReader, message: number): LostEpisode {
  const messages = episodeThrough(store, message);
  const last = messages.at(-1);
  if (last === undefined || last.return === null) {
    throw new C3Error(
      'input',
      `The episode of message ${String(message)} was not scored, so that nothing is known to be lost; choose another one.`,
    );
  }
  if (messages.length > MOST_MESSAGES) {
    throw new C3Error(
      'input',
      `The episode of message ${String(message)} has ${String(messages.length)} messages; a search takes at most ${String(MOST_MESSAGES)}.`,
    );
  }
  if (store.run(last.run).method === IMPORTED) {
    throw new C3Error(
      'input',
      `The episode of message ${String(message)} was recorded elsewhere: replay its messages one by one, with \`c3 replay --team FILE\`.`,
    );
  }
  const config = store.runConfig(last.run);
  const range = returnRangeOf(config);
  if (range === null || range.high <= range.low) {
    throw new C3Error(
      'input',
      `The range of returns of run ${last.run} is not known, so that no chance can be estimated.`,
    );
  }
  const protocol: Protocol = protocolOf(parseRecipe(config, last.run));
  return {
    leaf: last.id,
    end: last.return,
    range,
    messages,
    isTerminal: ({ position }) => isTerminal(protocol, position),
  };
}

interface Looked {
  readonly blame: Blame;
  /** The place to sample next; null where the verdict will not change. */
  readonly next: number | null;
}

interface Won {
  readonly verdict: 'won';
  readonly places: readonly number[];
  readonly next: null;
}
const WON: Won = { verdict: 'won', places: [], next: null };

/** What the stored pairs say. */
function lookAt(store: StoreReader, episode: LostEpisode, evaluatorCalls: number): Looked {
  const { leaf, end, range, messages } = episode;
  const samples: EpisodeSamples = {
    range,
    end,
    messages: messages.map((message) => samplesOf(store, message, end, episode.isTerminal(message))),
  };
  const points = curveOf(samples);
  const found: CurveVerdict | Won = isLost(samples) ? decide(samples) : WON;
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
      const own = samples.messages[index - 1];
      return {
        ...point,
        message: said?.id ?? null,
        role: said?.eventType ?? null,
        drop: own === undefined ? null : dropOf(own, range),
      };
    }),
    evaluatorCalls,
    more: found.verdict === 'undecided' ? callsToDecide(samples, found.places) : null,
    most: range.high,
  };
  return {
    blame: {
      ...known,
      remedy: message === null ? null : remedyOf(store, message, end),
      sentence: blameSentence(known),
    },
    next: found.next,
  };
}

/**
 * The pairs of a message, from requests that continued it as it was recorded. Training's own alternatives are left out:
 * the episode was chosen by what it returned there, and fresh continuations do not remember that.
 */
function samplesOf(store: StoreReader, { id }: Message, end: number, terminal: boolean): MessageSamples {
  const pairs: (readonly [number, number])[] = [];
  for (const bucket of pairedBuckets(store, id)) {
    const replays = store.replaysOfBucket(bucket);
    const own = new Map(replays.filter(({ alternative }) => alternative === id).map((one) => [one.replayIndex, one]));
    for (const { alternative, replayIndex, return: fresh } of replays) {
      const kept = terminal ? end : (own.get(replayIndex)?.return ?? null);
      if (alternative !== id && fresh !== null && kept !== null) {
        pairs.push([kept, fresh]);
      }
    }
  }
  return { pairs, terminal };
}

/** Requests about a message whose alternatives were all sampled and continued once each. */
function pairedBuckets(store: StoreReader, message: number): number[] {
  return store
    .bucketsFor(message)
    .filter(
      ({ message: asked, continuation, alternatives }) =>
        asked === message &&
        continuation === null &&
        alternatives.every(({ original, finish, returns }) => original || (finish !== 'typed' && returns.length === 1)),
    )
    .map(({ id }) => id);
}

/** What a role most often says in the place of a message that returns more than its episode did; null where nothing. */
function remedyOf(store: StoreReader, { id, text: own }: Message, end: number): Remedy | null {
  const paired = new Set(pairedBuckets(store, id));
  const fresh = store
    .bucketsFor(id)
    .filter((bucket) => paired.has(bucket.id))
    .flatMap(({ alternatives }) => alternatives.filter(({ original }) => !original));
  const better = [...Map.groupBy(fresh, ({ text }) => text)].flatMap(([text, alike]) => {
    const returns = alike.flatMap(({ returns: all }) => all.filter((one) => one !== null));
    const value = returns.reduce((sum, one) => sum + one, 0) / returns.length;
    return text !== own && value > end ? [{ text, said: alike.length, of: fresh.length, value }] : [];
  });
  // What is said often is a habit of the team; what is said once may be luck.
  return better.toSorted((a, b) => b.said * (b.value - end) - a.said * (a.value - end))[0] ?? null;
}

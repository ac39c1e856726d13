/**
 * Episodes that unfold in rounds. In a round, the team takes its turns once. Environments speak after
 * a turn or between rounds, and one may close the episode. The log determines the next step, so
 * branches of one tree may differ in length.
 */

import type { SaidEvent, EnvironmentEvent, LogEvent } from '../domain/episode.ts';
import { requireOccurrence, type Occurrence, type Protocol } from './protocol.ts';
import { isOneByOne, type EnvironmentCall, type Rounds } from './roundsForm.ts';

/** The words before the next speaker's name, if the last message chooses the speaker. */
export const NEXT_SPEAKER = 'next:';

/** The next step of an episode. */
export type Step =
  /** Messages that do not see each other, in canonical order. */
  | { readonly kind: 'messages'; readonly positions: readonly number[] }
  | {
      readonly kind: 'environment';
      readonly call: EnvironmentCall;
      /** The reason why the episode is over, if this event closes it; null if it continues. */
      readonly closing: string | null;
    }
  | { readonly kind: 'end'; readonly reason: string };

const isSaid = (event: LogEvent): event is SaidEvent => event.kind === 'decision';
const isEnvironment = (event: LogEvent): event is EnvironmentEvent => event.kind === 'environment';

/**
 * Returns the next step of an episode. A pure function of its arguments.
 * @param uniform returns a number in [0, 1) that belongs to this place of the episode; called if the
 *   order is random
 */
export function nextStep(protocol: Protocol, log: readonly LogEvent[], uniform: () => number): Step {
  const { rounds } = protocol;
  if (rounds === undefined) {
    const last = log.reduce((most, event) => (isSaid(event) ? Math.max(most, event.position) : most), -1);
    return (
      findParallelMessages(protocol.occurrences.slice(last + 1)) ?? { kind: 'end', reason: 'every role has spoken' }
    );
  }
  const made = log.filter(isSaid);
  const tail = log.slice(log.findLastIndex(isSaid) + 1).filter(isEnvironment);
  if (tail.at(-1)?.closing === true) {
    return { kind: 'end', reason: 'it is closed' };
  }
  const end = (reason: string): Step =>
    rounds.closing === null ? { kind: 'end', reason } : { kind: 'environment', call: rounds.closing, closing: reason };
  const done = tail.find((event) => event.done !== null)?.done;
  if (done !== undefined && done !== null) {
    return end(done);
  }
  const perRound = messagesPerRound(rounds);
  const newest = made.at(-1);
  const after = newest === undefined ? [] : (rounds.after.get(newest.position % rounds.size) ?? []);
  const called = after[tail.length];
  if (called !== undefined) {
    return { kind: 'environment', call: called, closing: null };
  }
  const spoken = made.slice(made.length - (made.length % perRound));
  if (spoken.length === 0) {
    if (newest !== undefined) {
      const reward = sumRoundReward(made.slice(-perRound));
      if (rounds.until !== null && reward !== null && reward >= rounds.until) {
        return end(`the round has a reward of at least ${rounds.until}`);
      }
      if (made.length / perRound >= rounds.turns) {
        return end(rounds.turns === 1 ? 'its only round is over' : `all ${rounds.turns} rounds are over`);
      }
      const between = rounds.between[tail.length - after.length];
      if (between !== undefined) {
        return { kind: 'environment', call: between, closing: null };
      }
    }
    if (log.length + eventsPerRound(rounds) > rounds.maxEvents) {
      return end(`max_events (${rounds.maxEvents}) allows no further round`);
    }
  }
  return chooseSpeakers(protocol, rounds, made, spoken, uniform, end);
}

function chooseSpeakers(
  protocol: Protocol,
  rounds: Rounds,
  made: readonly SaidEvent[],
  spoken: readonly SaidEvent[],
  uniform: () => number,
  end: (reason: string) => Step,
): Step {
  const of = (positions: readonly number[]): Step => ({ kind: 'messages', positions });
  const roles = protocol.roles.map(({ name }) => name);
  const nextOf = (role: string): Step => {
    const turn = made.filter((event) => event.role === role).length;
    const found = protocol.occurrences.find((occurrence) => occurrence.role === role && occurrence.turn === turn);
    return found === undefined ? end(`${role} has spoken ${turn} times`) : of([found.position]);
  };
  if (rounds.order === 'drawn') {
    return nextOf(roles[Math.floor(uniform() * roles.length)] ?? '');
  }
  if (rounds.order === 'chosen') {
    const newest = made.at(-1);
    const named = newest === undefined ? (roles[0] ?? '') : readNextSpeaker(newest.text);
    if (named === null) {
      return end('the last message names no next speaker');
    }
    const role = roles.find((name) => name.toLowerCase() === named.toLowerCase());
    return role === undefined
      ? end(`the last message names ${JSON.stringify(named)}, who is no role of ${protocol.name}`)
      : nextOf(role);
  }
  const start = made.length - spoken.length;
  const open = protocol.occurrences
    .slice(start, start + rounds.size)
    .filter(({ position }) => spoken.every((event) => event.position !== position));
  if (rounds.order === 'random') {
    const chosen = open[Math.floor(uniform() * open.length)];
    return chosen === undefined ? end('every role has spoken') : of([chosen.position]);
  }
  return findParallelMessages(open, rounds) ?? end('every role has spoken');
}

/**
 * Returns the first of some occurrences and the following ones that see none of these, up to an
 * environment between them.
 */
function findParallelMessages(open: readonly Occurrence[], rounds?: Rounds): Step | null {
  const together: number[] = [];
  for (const { position, ancestors } of open) {
    const before = together.at(-1);
    const parted = before !== undefined && rounds?.after.has(before % rounds.size) === true;
    if (parted || ancestors.some((ancestor) => together.includes(ancestor))) {
      break;
    }
    together.push(position);
  }
  return together.length === 0 ? null : { kind: 'messages', positions: together };
}

/** Returns the name after the last `next:` of a message, on the same line. */
function readNextSpeaker(text: string): string | null {
  const at = text.toLowerCase().lastIndexOf(NEXT_SPEAKER);
  const [line = ''] = at < 0 ? [] : text.slice(at + NEXT_SPEAKER.length).split('\n');
  const name = line.trim().replace(/[.!]$/, '').slice(0, 100);
  return name === '' ? null : name;
}

/** Returns the sum over a round's scored messages; null if one is masked or none is scored. */
export function sumRoundReward(messages: readonly SaidEvent[]): number | null {
  const rewards = messages.flatMap(({ reward }) => (reward === undefined ? [] : [reward]));
  return rewards.length === 0
    ? null
    : rewards.reduce<number | null>((sum, reward) => (sum === null || reward === null ? null : sum + reward), 0);
}

/** Returns the number of messages in one round. */
const messagesPerRound = ({ order, size }: Rounds): number => (isOneByOne(order) ? 1 : size);

/** Returns the messages in one turn of the whole team: one round, or an episode without rounds. */
export const messagesPerTurn = ({ rounds, occurrences }: Protocol): number =>
  rounds === undefined ? occurrences.length : messagesPerRound(rounds);

/** Returns true if the newest event of a log is the last message of a turn. */
export function endsTurn(protocol: Protocol, log: readonly LogEvent[]): boolean {
  const newest = log.at(-1);
  return newest !== undefined && isSaid(newest) && log.filter(isSaid).length % messagesPerTurn(protocol) === 0;
}

/** Returns the largest number of events in one round. */
export function eventsPerRound(rounds: Pick<Rounds, 'order' | 'size' | 'after' | 'between'>): number {
  const calls = [...rounds.after.values()].reduce((sum, list) => sum + list.length, 0);
  return (isOneByOne(rounds.order) ? 1 : rounds.size) + calls + rounds.between.length;
}

/** Returns the round of each event, from 0; environment events follow the message before them. */
function numberRounds(rounds: Rounds, log: readonly LogEvent[]): number[] {
  const perRound = messagesPerRound(rounds);
  let messages = 0;
  return log.map((event) => {
    const round = Math.floor((isSaid(event) ? messages : Math.max(0, messages - 1)) / perRound);
    messages += isSaid(event) ? 1 : 0;
    return round;
  });
}

/** Returns the events of a log that the role at a position sees before it speaks, in order. */
export function listVisibleEvents(protocol: Protocol, position: number, log: readonly LogEvent[]): LogEvent[] {
  const { rounds } = protocol;
  const { ancestors } = requireOccurrence(protocol, position);
  if (rounds === undefined) {
    return log.filter((event) => isSaid(event) && ancestors.includes(event.position));
  }
  const perRound = messagesPerRound(rounds);
  const current = Math.floor(log.filter(isSaid).length / perRound);
  const places = numberRounds(rounds, log);
  let speaker = -1;
  return log.filter((event, index) => {
    speaker = isSaid(event) ? event.position : speaker;
    const round = places[index] ?? 0;
    if (round < current) {
      return rounds.memory === 'full' || round === current - 1;
    }
    return rounds.order !== 'by_role' || speaker < 0 || ancestors.includes(speaker);
  });
}

/** Returns the environment events between two rounds, by the number of the round before them, from 0. */
export function groupEventsBetweenRounds(
  rounds: Rounds,
  log: readonly LogEvent[],
): ReadonlyMap<number, EnvironmentEvent[]> {
  const perRound = messagesPerRound(rounds);
  const places = numberRounds(rounds, log);
  const between = new Map<number, EnvironmentEvent[]>();
  let messages = 0;
  for (const [index, event] of log.entries()) {
    const round = places[index] ?? 0;
    if (isSaid(event)) {
      messages += 1;
    } else if (messages > 0 && messages % perRound === 0) {
      between.set(round, [...(between.get(round) ?? []), event]);
    }
  }
  return between;
}

/** Returns the messages of one role so far, in order, each with its round. */
export function listOwnMessages(
  rounds: Rounds,
  log: readonly LogEvent[],
  role: string,
): readonly { readonly round: number; readonly event: SaidEvent }[] {
  const places = numberRounds(rounds, log);
  return log.flatMap((event, index) =>
    isSaid(event) && event.role === role ? [{ round: places[index] ?? 0, event }] : [],
  );
}

/** Returns the events of the current round that the role at a position sees. */
export function listVisibleInRound(protocol: Protocol, position: number, log: readonly LogEvent[]): LogEvent[] {
  const { rounds } = protocol;
  const made = log.filter(isSaid);
  const spoken = rounds === undefined ? 0 : made.length % messagesPerRound(rounds);
  const first = made[made.length - spoken];
  const start = first === undefined ? log.length : log.indexOf(first);
  const current = new Set(log.slice(start));
  return listVisibleEvents(protocol, position, log).filter((event) => current.has(event));
}

/** Returns the input of an environment: the messages of the newest round, or those of one role in it. */
export function listMessagesRead(protocol: Protocol, { of }: EnvironmentCall, log: readonly LogEvent[]): SaidEvent[] {
  const { rounds } = protocol;
  const made = log.filter(isSaid);
  const perRound = rounds === undefined ? made.length : messagesPerRound(rounds);
  const length = made.length % perRound === 0 ? Math.min(perRound, made.length) : made.length % perRound;
  const newest = made.slice(made.length - length);
  return of === null ? newest : newest.filter(({ role }) => role === of);
}

/** Returns the messages of the current turn, up to the last message of a log. */
export function listTurnMessages({ rounds }: Protocol, log: readonly LogEvent[]): SaidEvent[] {
  const made = log.filter(isSaid);
  const spoken = rounds === undefined ? made.length : ((made.length - 1) % messagesPerRound(rounds)) + 1;
  return made.slice(made.length - spoken);
}

/**
 * Returns the factor of the reward of a message, or of an event after it, in the return.
 * @param index its place among the messages of its episode
 */
export function discountFactor({ rounds }: Protocol, index: number): number {
  return rounds === undefined || rounds.discount === 1
    ? 1
    : rounds.discount ** Math.floor(index / messagesPerRound(rounds));
}

/** Returns the largest number of messages in an episode. */
export const countMostMessages = ({ occurrences, rounds }: Protocol): number =>
  rounds !== undefined && isOneByOne(rounds.order) ? rounds.turns : occurrences.length;

/** Returns the largest number of scored messages in an episode, plus its closing event if it has one. */
export const countMostScores = (protocol: Protocol): number =>
  protocol.occurrences.filter(({ scored }) => scored).length + countClosingScores(protocol);

/** Returns the number of closing events in an episode, each of which is scored. */
export const countClosingScores = ({ rounds }: Pick<Protocol, 'rounds'>): 0 | 1 =>
  rounds === undefined || rounds.closing === null ? 0 : 1;

/** Returns the number of scores in an episode that ended with the message at a position. */
export function countScoresThrough(protocol: Protocol, position: number): number {
  const { occurrences, rounds } = protocol;
  // An episode of rounds ends with a whole round. If one message is a round, only its closing event
  // is scored.
  const end = rounds === undefined ? position : position - (position % rounds.size) + rounds.size - 1;
  return occurrences.filter((one) => one.scored && one.position <= end).length + countClosingScores(protocol);
}

/** Returns the least return of a solved episode. */
export function solvedReturn(protocol: Protocol): number {
  const { occurrences, rounds } = protocol;
  const perRound = occurrences.slice(0, rounds?.size).filter(({ scored }) => scored).length;
  if (rounds === undefined) {
    return perRound;
  }
  const factors = Array.from({ length: rounds.turns }, (_, round) => rounds.discount ** round);
  const last = factors.at(-1) ?? 1;
  const own = rounds.until !== null ? perRound * last : factors.reduce((sum, factor) => sum + perRound * factor, 0);
  return own + (rounds.closing === null ? 0 : last);
}

/**
 * Returns the highest possible return of an episode.
 * @param wholeScores true if each message is scored 0 or 1, and not in between
 */
export function highestReturn(protocol: Protocol, wholeScores: boolean): number {
  const { occurrences, rounds } = protocol;
  if (rounds === undefined || rounds.until === null) {
    return solvedReturn(protocol);
  }
  const perRound = occurrences.slice(0, rounds.size).filter(({ scored }) => scored).length;
  // The highest reward of a round that does not end the episode.
  const before = Math.max(0, Math.min(perRound, wholeScores ? Math.ceil(rounds.until) - 1 : rounds.until));
  const last = perRound + countClosingScores(protocol);
  let [most, sum] = [0, 0];
  for (let round = 0; round < rounds.turns; round++) {
    const factor = rounds.discount ** round;
    most = Math.max(most, sum + factor * last);
    sum += factor * before;
  }
  return most;
}

/**
 * The shape of a tree of samples. nested: fanout[i] messages continue every message in the place
 * before. spine: one episode, with fanout[i] messages in the i-th context, including its own; the
 * others are continued once.
 */
export type Shape = 'nested' | 'spine';

/** Returns the number of messages of one tree in each of some places, if no episode ends before. */
export function countTreeMessages(fanout: readonly number[], shape: Shape, places: number): number[] {
  let continued = shape === 'nested' ? 1 : 0;
  return Array.from({ length: places }, (_, level) => {
    const count = fanout[level] ?? 1;
    const messages = shape === 'nested' ? continued * count : continued + count;
    continued = shape === 'nested' ? messages : messages - 1;
    return messages;
  });
}

/**
 * Returns the evaluator calls of one tree with this fan-out: one for every scored message, and one for
 * every closing event. If episodes may end early or choose turns by chance, this is an upper bound.
 */
export function countFanoutCalls(protocol: Protocol, fanout: readonly number[], shape: Shape = 'nested'): number {
  const { occurrences, rounds } = protocol;
  const levels = countTreeMessages(fanout, shape, countMostMessages(protocol));
  const calls = levels.reduce((total, messages, level) => {
    const start = rounds === undefined ? 0 : level - (level % rounds.size);
    const may =
      rounds?.order === 'random' ? occurrences.slice(start, start + rounds.size) : occurrences.slice(level, level + 1);
    return may.some(({ scored }) => scored) ? total + messages : total;
  }, 0);
  return calls + countClosingScores(protocol) * (levels.at(-1) ?? 1);
}

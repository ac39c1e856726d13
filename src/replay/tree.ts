/**
 * Episodes as trees. The children of a message continue the episode after it. A nested fan-out such as [2,4]
 * is a tree whose leaves are episodes; a replay is a tree with one child per level below an alternative.
 */
import type { EnvironmentEvent, LogEvent } from '../domain/episode.ts';
import type { Sampling } from '../domain/message.ts';
import type { Problem } from '../domain/problem.ts';
import type { PolicyAnswer } from '../policy/policy.ts';
import { occurrenceAt, type Protocol } from '../team/protocol.ts';

/** What an evaluator said of a scored message; a null score is masked. */
export interface Score {
  readonly score: number | null;
  readonly rule: string;
  /** True where it was taken from an equal message: no evaluator call was made for this one. */
  readonly reused?: boolean;
  /** What it counts of itself in the return, where rewards of later rounds are discounted; all of it where absent. */
  readonly weight?: number;
}

/** An environment event in a tree; branches below it share it. */
export interface TreeEvent {
  readonly event: EnvironmentEvent;
  /** Of an event that is scored. */
  score?: Score;
  stored: number | undefined;
}

/** Where an episode is before its next message: all that a restart needs (replay state). */
export interface Branch {
  readonly problem: Problem;
  /** The last message, or null at the start. */
  readonly message: TreeMessage | null;
  /** What environments said since. */
  readonly events?: readonly TreeEvent[];
  /** What the next message is asked with, where a program says it. */
  readonly asked?: string;
  /** True: where nothing but empty messages is seen, the context keeps its heading. */
  readonly headed?: boolean;
}

/** A message in a tree, with what it was sampled from, what scored it and what follows it. */
export interface TreeMessage {
  readonly problem: Problem;
  readonly position: number;
  readonly parent: TreeMessage | null;
  /** Index among its siblings. */
  readonly sibling: number;
  /** Index of the alternative that it is, or that it continues. */
  readonly alternative: number;
  /**
   * Which continuation of its alternative it is at its position, from 0: the m that names its stream. Null for an
   * alternative itself.
   */
  readonly replay: number | null;
  /** Of one that was drawn in the place of an equal one (episodes.ts). It is no replay of the messages before it. */
  readonly redraw?: true;
  readonly context: string;
  readonly contextKey: string;
  readonly streamKey: string;
  readonly sampling: Sampling;
  readonly answer: PolicyAnswer;
  /** Scores of a scored occurrence; undefined for the others. */
  score: Score | undefined;
  readonly children: TreeMessage[];
  /** What environments said since the message before it. */
  readonly before?: readonly TreeEvent[];
  /** What follows it in the place of what was recorded; it is the first event after it. */
  readonly edited?: TreeEvent;
  /** What environments said at the end of the episode, where it ends with this message and that is known. */
  after?: readonly TreeEvent[];
  /** The message's id once it is stored; known from the start for a message that came from the store. */
  stored: number | undefined;
}

/** Names equal messages of a context alike; a text that came without tokens by itself. */
export const saidBy = ({ answer: { tokens, text } }: Pick<TreeMessage, 'answer'>): string =>
  tokens.length === 0 ? `text ${text}` : tokens.join();

/** Messages before a message. */
export function countBefore(message: TreeMessage): number {
  return message.parent === null ? 0 : 1 + countBefore(message.parent);
}

/** The events of a branch, in order. */
export function toLog(protocol: Protocol, { message, events = [] }: Omit<Branch, 'problem'>): LogEvent[] {
  const before: LogEvent[] =
    message === null ? [] : toLog(protocol, { message: message.parent, events: message.before ?? [] });
  if (message !== null) {
    const { role } = occurrenceAt(protocol, message.position);
    const reward = message.score === undefined ? {} : { reward: message.score.score };
    before.push({ kind: 'decision', position: message.position, role, text: message.answer.text, ...reward });
  }
  before.push(...events.map(({ event }) => event));
  return before;
}

/** Leaves below a message in depth-first order; the message itself where it has no children. */
export function findLeaves(message: TreeMessage): TreeMessage[] {
  return message.children.length === 0 ? [message] : message.children.flatMap(findLeaves);
}

/**
 * Return of an episode (equation 4): the sum of the scores of its scored messages and of its closing event, each as
 * much as it counts, cut to [-bound, bound]; null when any of them is masked, and where none was scored: that is no
 * return of 0.
 */
export function returnOf(leaf: TreeMessage, bound = Infinity): number | null {
  return returnOfScores(findScores(leaf).map(countedScore), bound);
}

/** Why a message of an episode is missing, up to a message; null where none is. */
export const lostIn = (leaf: TreeMessage): string | null => missingIn(leaf)?.lost ?? null;

/** The message of an episode that is missing, up to a message; null where none is. */
export function missingIn(leaf: TreeMessage): TreeMessage['answer'] | null {
  for (let message: TreeMessage | null = leaf; message !== null; message = message.parent) {
    if (message.answer.lost !== undefined) {
      return message.answer;
    }
  }
  return null;
}

/** The scores of an episode, from its end to its beginning; a message that is missing masks it. */
export function findScores(leaf: TreeMessage): Score[] {
  const scores = eventScores(leaf).toReversed();
  const lost = lostIn(leaf);
  if (lost !== null) {
    scores.push({ score: null, rule: `no message: ${lost}` });
  }
  for (let message: TreeMessage | null = leaf; message !== null; message = message.parent) {
    if (message.score !== undefined) {
      scores.push(message.score);
    }
  }
  return scores;
}

/** The scores of the environment events that end an episode. */
export const eventScores = ({ after = [] }: TreeMessage): Score[] => after.flatMap(({ score }) => score ?? []);

/** What a score adds to a return. */
export const countedScore = ({ score, weight }: Pick<Score, 'score' | 'weight'>): number | null =>
  score === null || weight === undefined ? score : score * weight;

/** The return that the scores of an episode add up to, from its end; see returnOf. */
export function returnOfScores(scores: readonly (number | null)[], bound: number): number | null {
  let total = 0;
  for (const score of scores) {
    if (score === null) {
      return null;
    }
    total += score;
  }
  return scores.length === 0 ? null : Math.max(-bound, Math.min(bound, total));
}

/**
 * Evaluator calls that a message cost: none where it is not scored, and where its score was taken from an equal one.
 */
export const callOf = ({ score }: Pick<TreeMessage, 'score'>): 0 | 1 =>
  score === undefined || score.reused === true ? 0 : 1;

/** Evaluator calls that a subtree cost. */
export function countCalls(message: TreeMessage): number {
  return (
    callOf(message) +
    eventScores(message).length +
    message.children.reduce((total, child) => total + countCalls(child), 0)
  );
}

/** Evaluator calls that a replay cost; the alternative's own, where it is scored itself, counts in its first. */
export function callsOfReplay(alternative: TreeMessage, leaf: TreeMessage, first: boolean): number {
  let calls = (first ? callOf(alternative) : 0) + (first || leaf !== alternative ? eventScores(leaf).length : 0);
  for (let message: TreeMessage | null = leaf; message !== null && message !== alternative; message = message.parent) {
    calls += callOf(message);
  }
  return calls;
}

/** The returns of one alternative, null where masked, and what they cost. */
export interface AlternativeReturns {
  readonly returns: readonly (number | null)[];
  readonly evaluatorCalls: number;
}

/**
 * The ends of a message's replays. Which messages are drawn again depends on what was drawn, so those are no replays of
 * the messages before them: their mean return would be biased.
 */
export const findReplays = (message: TreeMessage): TreeMessage[] =>
  findLeaves(message).filter((leaf) => leaf === message || leaf.redraw !== true);

/** The returns of a message's replays, and what all below it cost. */
export const alternativeReturns = (message: TreeMessage, bound: number): AlternativeReturns => ({
  returns: findReplays(message).map((leaf) => returnOf(leaf, bound)),
  evaluatorCalls: countCalls(message),
});

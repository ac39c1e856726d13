/**
 * Episodes as trees. The children of a message continue the episode after it. A nested fan-out such
 * as [2,4] is a tree whose leaves are episodes. A replay is a tree with one child per level below
 * an alternative.
 */

import type { EnvironmentEvent, LogEvent } from '../domain/episode.ts';
import type { Sampling } from '../domain/message.ts';
import type { Problem } from '../domain/problem.ts';
import type { PolicyAnswer } from '../policy/policy.ts';
import { requireOccurrence, type Protocol } from '../team/protocol.ts';

/** The evaluator's result for a scored message. A null score is masked. */
export interface Score {
  readonly score: number | null;
  readonly rule: string;
  /** True if it was taken from an equal message without an evaluator call. */
  readonly reused?: boolean;
  /** Its factor in the return, if the rewards of later rounds are discounted. Default: 1. */
  readonly weight?: number;
}

/** An environment event in a tree, which the branches below it share. */
export interface TreeEvent {
  readonly event: EnvironmentEvent;
  /** The score of an event that is scored. */
  score?: Score;
  stored: number | undefined;
}

/** The state of an episode before its next message: all that a restart needs (replay state). */
export interface Branch {
  readonly problem: Problem;
  /** The last message, or null at the start. */
  readonly message: TreeMessage | null;
  /** The environment events since that message. */
  readonly events?: readonly TreeEvent[];
  /** The context of the next message, if a program gives it. */
  readonly asked?: string;
  /** True to keep the heading of a context that shows nothing but empty messages. */
  readonly headed?: boolean;
}

/** A message in a tree, with its input, its score and its continuations. */
export interface TreeMessage {
  readonly problem: Problem;
  readonly position: number;
  readonly parent: TreeMessage | null;
  /** The index among its siblings. */
  readonly sibling: number;
  /** The index of the alternative that it is or continues. */
  readonly alternative: number;
  /**
   * The index of this continuation among those of its alternative at this position, from 0: the m
   * that names its stream. Null for an alternative itself.
   */
  readonly replay: number | null;
  /** True if it was drawn in place of an equal one (episodes.ts). It is no replay of its parents. */
  readonly redraw?: true;
  readonly context: string;
  readonly contextKey: string;
  readonly streamKey: string;
  readonly sampling: Sampling;
  readonly answer: PolicyAnswer;
  /** The score of a scored occurrence, or undefined. */
  score: Score | undefined;
  readonly children: TreeMessage[];
  /** The environment events since the previous message. */
  readonly before?: readonly TreeEvent[];
  /** An event that replaces the recorded one as the first after this message. */
  readonly edited?: TreeEvent;
  /** The environment events at the end of the episode, if this message ends it and they are known. */
  after?: readonly TreeEvent[];
  /** The message's id once it is stored, or from the start for a message from the store. */
  stored: number | undefined;
}

/** Returns a key of a message's content, equal for equal messages of a context. */
export const makeMessageKey = ({ answer: { tokens, text } }: Pick<TreeMessage, 'answer'>): string =>
  tokens.length === 0 ? `text ${text}` : tokens.join();

/** Returns the number of messages before a message. */
export function countBefore(message: TreeMessage): number {
  return message.parent === null ? 0 : 1 + countBefore(message.parent);
}

/** Returns the events of a branch, in order. */
export function toLog(protocol: Protocol, { message, events = [] }: Omit<Branch, 'problem'>): LogEvent[] {
  const before: LogEvent[] =
    message === null ? [] : toLog(protocol, { message: message.parent, events: message.before ?? [] });
  if (message !== null) {
    const { role } = requireOccurrence(protocol, message.position);
    const reward = message.score === undefined ? {} : { reward: message.score.score };
    before.push({ kind: 'decision', position: message.position, role, text: message.answer.text, ...reward });
  }
  before.push(...events.map(({ event }) => event));
  return before;
}

/** Returns the leaves below a message in depth-first order, or the message if it is a leaf. */
export function findLeaves(message: TreeMessage): TreeMessage[] {
  return message.children.length === 0 ? [message] : message.children.flatMap(findLeaves);
}

/**
 * Returns the return of an episode (equation 4): the weighted sum of the scores of its scored
 * messages and its closing event, clipped to [-bound, bound]. Returns null if any score is masked
 * or there is none, because that is not a return of 0.
 */
export function computeReturn(leaf: TreeMessage, bound = Infinity): number | null {
  return sumScores(findScores(leaf).map(countedScore), bound);
}

/** Returns the reason why a message on the path to a message is missing, or null if none is. */
export const findLoss = (leaf: TreeMessage): string | null => findMissing(leaf)?.lost ?? null;

/** Returns the missing message on the path to a message, or null if none is missing. */
export function findMissing(leaf: TreeMessage): TreeMessage['answer'] | null {
  for (let message: TreeMessage | null = leaf; message !== null; message = message.parent) {
    if (message.answer.lost !== undefined) {
      return message.answer;
    }
  }
  return null;
}

/** Returns the scores of an episode, from its end to its beginning. A missing message masks it. */
export function findScores(leaf: TreeMessage): Score[] {
  const scores = eventScores(leaf).toReversed();
  const lost = findLoss(leaf);
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

/** Returns the scores of the environment events that end an episode. */
export const eventScores = ({ after = [] }: TreeMessage): Score[] => after.flatMap(({ score }) => score ?? []);

/** Returns the weighted score. */
export const countedScore = ({ score, weight }: Pick<Score, 'score' | 'weight'>): number | null =>
  score === null || weight === undefined ? score : score * weight;

/** Returns the clipped sum of an episode's scores, from its end. See `computeReturn`. */
export function sumScores(scores: readonly (number | null)[], bound: number): number | null {
  let total = 0;
  for (const score of scores) {
    if (score === null) {
      return null;
    }
    total += score;
  }
  return scores.length === 0 ? null : Math.max(-bound, Math.min(bound, total));
}

/** Returns the evaluator calls for a message: 0 if it has no score or a reused one. */
export const countMessageCalls = ({ score }: Pick<TreeMessage, 'score'>): 0 | 1 =>
  score === undefined || score.reused === true ? 0 : 1;

/** Returns the evaluator calls for a subtree. */
export function countCalls(message: TreeMessage): number {
  return (
    countMessageCalls(message) +
    eventScores(message).length +
    message.children.reduce((total, child) => total + countCalls(child), 0)
  );
}

/** Returns the evaluator calls for a replay. The first includes those for the alternative. */
export function countReplayCalls(alternative: TreeMessage, leaf: TreeMessage, first: boolean): number {
  let calls =
    (first ? countMessageCalls(alternative) : 0) + (first || leaf !== alternative ? eventScores(leaf).length : 0);
  for (let message: TreeMessage | null = leaf; message !== null && message !== alternative; message = message.parent) {
    calls += countMessageCalls(message);
  }
  return calls;
}

/** The returns of one alternative, null if masked, and their cost. */
export interface AlternativeReturns {
  readonly returns: readonly (number | null)[];
  readonly evaluatorCalls: number;
}

/**
 * Returns the leaves of a message's replays. Redrawn messages depend on earlier draws, so they are
 * no replays of the messages before them: they would bias their mean return.
 */
export const findReplays = (message: TreeMessage): TreeMessage[] =>
  findLeaves(message).filter((leaf) => leaf === message || leaf.redraw !== true);

/** Returns the returns of a message's replays, and the cost of everything below it. */
export const alternativeReturns = (message: TreeMessage, bound: number): AlternativeReturns => ({
  returns: findReplays(message).map((leaf) => computeReturn(leaf, bound)),
  evaluatorCalls: countCalls(message),
});

/**
 * Episodes as trees. A node is one message; its children continue the episode after it. A nested fan-out such as [2,4]
 * is a tree whose leaves are episodes; a replay is a tree with one child per level below an alternative.
 */
import type { PolicyAnswer } from '../policy/policy.ts';
import type { EnvironmentEvent, LogEvent } from '../domain/episode.ts';
import type { Problem } from '../domain/problem.ts';
import type { Sampling } from '../domain/message.ts';
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
export interface EnvironmentNode {
  readonly event: EnvironmentEvent;
  /** Of an event that is scored. */
  score?: Score;
  stored: number | undefined;
}

/** Where an episode is before its next message: all that a restart needs (replay state). */
export interface Branch {
  readonly problem: Problem;
  /** The last message, or null at the start. */
  readonly node: TreeNode | null;
  /** What environments said since. */
  readonly events?: readonly EnvironmentNode[];
  /** What the next message is asked with, where a program says it. */
  readonly asked?: string;
  /** True: where nothing but empty messages is seen, the context keeps its heading. */
  readonly headed?: boolean;
}

export interface TreeNode {
  readonly problem: Problem;
  readonly position: number;
  readonly parent: TreeNode | null;
  /** Index among its siblings. */
  readonly sibling: number;
  /** Index of the alternative that it is, or that it continues. */
  readonly alternative: number;
  /**
   * Which continuation of its alternative it is at its position, from 0: the m that names its stream. Null for an
   * alternative itself.
   */
  readonly replay: number | null;
  /** Of one that was drawn in the place of an equal one (redraw.ts). It is no replay of the messages before it. */
  readonly redraw?: true;
  readonly context: string;
  readonly contextKey: string;
  readonly streamKey: string;
  readonly sampling: Sampling;
  readonly answer: PolicyAnswer;
  /** Scores of a scored occurrence; undefined for the others. */
  score: Score | undefined;
  readonly children: TreeNode[];
  /** What environments said since the message before it. */
  readonly before?: readonly EnvironmentNode[];
  /** What follows it in the place of what was recorded; it is the first event after it. */
  readonly edited?: EnvironmentNode;
  /** What environments said at the end of the episode, where it ends with this message and that is known. */
  after?: readonly EnvironmentNode[];
  /** The message's id once it is stored; known from the start for a message that came from the store. */
  stored: number | undefined;
}

/** Names equal messages of a context alike; a text that came without tokens by itself. */
export const saidBy = ({ answer: { tokens, text } }: Pick<TreeNode, 'answer'>): string =>
  tokens.length === 0 ? `text ${text}` : tokens.join();

/** Messages before a node. */
export function countBefore(node: TreeNode): number {
  return node.parent === null ? 0 : 1 + countBefore(node.parent);
}

/** The events of a branch, in order. */
export function toLog(protocol: Protocol, { node, events = [] }: Omit<Branch, 'problem'>): LogEvent[] {
  const before: LogEvent[] = node === null ? [] : toLog(protocol, { node: node.parent, events: node.before ?? [] });
  if (node !== null) {
    const { role } = occurrenceAt(protocol, node.position);
    const reward = node.score === undefined ? {} : { reward: node.score.score };
    before.push({ kind: 'decision', position: node.position, role, text: node.answer.text, ...reward });
  }
  before.push(...events.map(({ event }) => event));
  return before;
}

/** Leaves below a node in depth-first order; the node itself where it has no children. */
export function findLeaves(node: TreeNode): TreeNode[] {
  return node.children.length === 0 ? [node] : node.children.flatMap(findLeaves);
}

/**
 * Return of an episode (equation 4): the sum of the scores of its scored messages and of its closing event, each as
 * much as it counts, cut to [-bound, bound]; null when any of them is masked, and where none was scored: that is no
 * return of 0.
 */
export function returnOf(leaf: TreeNode, bound = Infinity): number | null {
  return returnOfScores(findScores(leaf).map(countedScore), bound);
}

/** Why a message of an episode is missing, up to a node; null where none is. */
export const lostIn = (leaf: TreeNode): string | null => missingIn(leaf)?.lost ?? null;

/** The message of an episode that is missing, up to a node; null where none is. */
export function missingIn(leaf: TreeNode): TreeNode['answer'] | null {
  for (let node: TreeNode | null = leaf; node !== null; node = node.parent) {
    if (node.answer.lost !== undefined) {
      return node.answer;
    }
  }
  return null;
}

/** The scores of an episode, from its end to its beginning; a message that is missing masks it. */
export function findScores(leaf: TreeNode): Score[] {
  const scores = eventScores(leaf).toReversed();
  const lost = lostIn(leaf);
  if (lost !== null) {
    scores.push({ score: null, rule: `no message: ${lost}` });
  }
  for (let node: TreeNode | null = leaf; node !== null; node = node.parent) {
    if (node.score !== undefined) {
      scores.push(node.score);
    }
  }
  return scores;
}

/** The scores of the environment events that end an episode. */
export const eventScores = ({ after = [] }: TreeNode): Score[] => after.flatMap(({ score }) => score ?? []);

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
export const callOf = ({ score }: Pick<TreeNode, 'score'>): 0 | 1 =>
  score === undefined || score.reused === true ? 0 : 1;

/** Evaluator calls that a subtree cost. */
export function countCalls(node: TreeNode): number {
  return callOf(node) + eventScores(node).length + node.children.reduce((total, child) => total + countCalls(child), 0);
}

/** Evaluator calls that a replay cost; the alternative's own, where it is scored itself, counts in its first. */
export function callsOfReplay(alternative: TreeNode, leaf: TreeNode, first: boolean): number {
  let calls = (first ? callOf(alternative) : 0) + (first || leaf !== alternative ? eventScores(leaf).length : 0);
  for (let node: TreeNode | null = leaf; node !== null && node !== alternative; node = node.parent) {
    calls += callOf(node);
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
export const findReplays = (node: TreeNode): TreeNode[] =>
  findLeaves(node).filter((leaf) => leaf === node || leaf.redraw !== true);

/** The returns of a message's replays, and what all below it cost. */
export const alternativeReturns = (node: TreeNode, bound: number): AlternativeReturns => ({
  returns: findReplays(node).map((leaf) => returnOf(leaf, bound)),
  evaluatorCalls: countCalls(node),
});

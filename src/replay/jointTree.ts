/** Plain functions and types for rollout trees of turns, which growJoint.ts grows. */

import type { Json } from '../domain/episode.ts';
import { eventScores, type Score, type TreeMessage } from './tree.ts';

/** The reason why a node has no further turn, and the data of that decision. */
export interface Stop {
  readonly reason: string;
  readonly json: Json;
}

export interface JointGrowth {
  /** Messages of each role at each node. */
  readonly generations: number;
  readonly mode: 'align' | 'cross';
  /** Returns a stop or null for a node whose joint actions have these rewards (null: masked). */
  readonly stop: (rewards: readonly (number | null)[]) => Stop | null;
}

/** The source of the event that ends the branches of a node. */
export const TERMINATION = 'termination';

/** Returns the number of messages in each place below each message before it: the rows of a tree. */
export const jointFanout = (
  { generations, mode }: Pick<JointGrowth, 'generations' | 'mode'>,
  messages: number,
  perTurn: number,
): number[] =>
  Array.from({ length: messages }, (_, level) => (mode === 'cross' || level % perTurn === 0 ? generations : 1));

/**
 * Returns the reward of a joint action: the scores of its messages, and of the event that closes
 * the episode after it. Returns null if one is masked or none was scored.
 * @param last its last message, or null if it has none
 * @param perTurn messages of a joint action
 */
export function computeJointReward(last: TreeMessage | null, perTurn: number): number | null {
  const scores: Score[] = last === null ? [] : eventScores(last);
  for (
    let [message, left] = [last, perTurn];
    message !== null && left > 0;
    [message, left] = [message.parent, left - 1]
  ) {
    scores.unshift(...(message.score === undefined ? [] : [message.score]));
  }
  return scores.length === 0
    ? null
    : scores.reduce<number | null>((sum, { score }) => (sum === null || score === null ? null : sum + score), 0);
}

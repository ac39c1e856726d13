/**
 * Episodes as trees. A node is one decision; its children continue the episode after it. A nested fan-out such as [2,4]
 * is a tree whose leaves are episodes; a replay is a tree with one child per level below an alternative.
 */
import type { PolicyAnswer } from '../policy/policy.ts';
import type { Instance, Sampling } from '../shared/records/records.ts';

/** What an evaluator said of a scored message; a null score is masked. */
export interface Score {
  readonly score: number | null;
  readonly rule: string;
  /** True where it was taken from an equal message: no evaluator call was made for this one. */
  readonly reused?: boolean;
}

/** Where an episode stands before its next decision: all that a restart needs (replay state). */
export interface Branch {
  readonly instance: Instance;
  /** The last decision, or null at the start. */
  readonly node: TreeNode | null;
}

export interface TreeNode {
  readonly instance: Instance;
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
  readonly context: string;
  readonly contextKey: string;
  readonly streamKey: string;
  readonly sampling: Sampling;
  readonly answer: PolicyAnswer;
  /** Scores of a scored occurrence; undefined for the others. */
  score: Score | undefined;
  readonly children: TreeNode[];
  /** The decision's id once it is stored; known from the start for a decision that came from the store. */
  stored: number | undefined;
}

/** Leaves below a node in depth-first order; the node itself where it has no children. */
export function leavesOf(node: TreeNode): TreeNode[] {
  return node.children.length === 0 ? [node] : node.children.flatMap(leavesOf);
}

/**
 * Return of an episode (equation 4): the sum of the scores of its scored messages, cut to [-bound, bound]; null when
 * any of them is masked, and where none was scored: that is no return of 0.
 */
export function returnOf(leaf: TreeNode, bound = Infinity): number | null {
  const scores: (number | null)[] = [];
  for (let node: TreeNode | null = leaf; node !== null; node = node.parent) {
    if (node.score !== undefined) {
      scores.push(node.score.score);
    }
  }
  return returnOfScores(scores, bound);
}

/** The return that the scores of an episode's scored messages add up to; see returnOf. */
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
export const callOf = ({ score }: TreeNode): 0 | 1 => (score === undefined || score.reused === true ? 0 : 1);

/** Evaluator calls that a subtree cost. */
export function callsOf(node: TreeNode): number {
  return callOf(node) + node.children.reduce((total, child) => total + callsOf(child), 0);
}

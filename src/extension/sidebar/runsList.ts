/** Compares lists of the Runs view, to find the items to update after a change of the store. */

import type { RunNode, RunsNode } from './runsModel.ts';

export interface List {
  readonly children: readonly RunsNode[];
  readonly hasRuns: boolean;
  readonly error: Error | null;
  /** The content of each item, as JSON. */
  readonly words: readonly string[];
}

/**
 * Returns the runs of the top list whose content changed. Returns null if the whole list must be
 * updated: for other items, another order or error, or a change of an item other than a run.
 */
export function findChangedRuns(before: List, now: List): readonly RunNode[] | null {
  if (!hasSameItems(before, now)) {
    return null;
  }
  const changed = now.children.filter((_, index) => now.words[index] !== before.words[index]);
  return changed.every((child) => child.kind === 'run') ? changed : null;
}

/** Returns true if two lists have the same items in the same order, with the same content. */
export function isSameList(one: List, other: List): boolean {
  return hasSameItems(one, other) && one.words.every((words, index) => words === other.words[index]);
}

function hasSameItems(one: List, other: List): boolean {
  return (
    one.hasRuns === other.hasRuns &&
    one.error?.message === other.error?.message &&
    one.children.length === other.children.length &&
    one.children.every(({ id, kind }, index) => other.children[index]?.id === id && other.children[index].kind === kind)
  );
}

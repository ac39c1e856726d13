/** A list of the Runs view as the editor holds it, and what of it must be drawn again when the store has changed. */
import type { RunNode, RunsNode } from './runsModel.ts';

export interface List {
  readonly children: readonly RunsNode[];
  readonly hasRuns: boolean;
  readonly error: Error | null;
  /** All that is shown and known of each item. */
  readonly words: readonly string[];
}

/**
 * The runs of the top list that now show something else; null where the whole list must be drawn again: other items,
 * another order, another error, or a change of an item that is no run.
 */
export function findChangedRuns(before: List, now: List): readonly RunNode[] | null {
  if (!hasSameItems(before, now)) {
    return null;
  }
  const changed = now.children.filter((_, index) => now.words[index] !== before.words[index]);
  return changed.every((child) => child.kind === 'run') ? changed : null;
}

/** Whether two lists have the same items in the same order, and show the same of each. */
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

/** The places of the entries of a log, grouped by episode. */

import type { EntryPlace } from './source.ts';

export type EntryKind = 'step' | 'message' | 'conversation' | 'table' | 'sample' | 'trace';

/** The entries of one episode. */
export interface EntryGroup {
  readonly kind: EntryKind;
  readonly count: number;
  /** The first of them, in the order of the log. */
  readonly places: readonly EntryPlace[];
}

/** The index of a log's entries, kept on disk because they may exceed the memory. */
export interface EntryIndex {
  /**
   * @param group the key that all entries of its episode share; null if the entry is an episode by
   *   itself
   */
  readonly add: (place: EntryPlace, kind: EntryKind, group: string | null) => void;
  /**
   * Yields the episodes in the order in which they began. Nothing may be added after this.
   * @param most places to return for each episode, by kind
   */
  readonly groups: (most: Readonly<Record<EntryKind, number>>) => Generator<EntryGroup>;
}

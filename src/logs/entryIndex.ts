/** Where the entries of a log are, by the episodes that they belong to. */
import type { EntryPlace } from './source.ts';

/** What an entry is. */
export type EntryKind = 'step' | 'message' | 'conversation' | 'table' | 'sample' | 'trace';

/** The entries of one episode. */
export interface EntryGroup {
  readonly kind: EntryKind;
  /** How many there are. */
  readonly count: number;
  /** The first of them, in the order of the log. */
  readonly places: readonly EntryPlace[];
}

/** Kept outside of memory: a log may have more entries than fit into it. */
export interface EntryIndex {
  /** @param group what the entry shares with those of its episode; null for one that is an episode by itself */
  readonly add: (place: EntryPlace, kind: EntryKind, group: string | null) => void;
  /**
   * The episodes in the order in which they began; nothing is added after.
   * @param most entries of each that are given
   */
  readonly groups: (most: Readonly<Record<EntryKind, number>>) => Generator<EntryGroup>;
}

/** The parts of a converted file of the published scripts. */

import type { KeyPath } from '../../../team/document.ts';

/** Facts about the disk for the names in a file. */
export interface PublishedFacts {
  readonly isFolder: (path: string) => boolean;
  /** Returns the number of problems in a file, or null if there is no such file. */
  readonly problemsIn: (path: string) => number | null;
}

/** A remark to the user about a key. */
export interface PublishedNote {
  /** The key's path in the file; the key itself may be absent. */
  readonly path: KeyPath;
  /** Follows the path in the message. */
  readonly sentence: string;
  /** True if the value is probably a mistake. */
  readonly warns: boolean;
}

/** A key of this product, its value, and the key of the file that it comes from. */
export type Row = readonly [own: string, value: unknown, from: KeyPath];

/** What the conversion of a file of the published scripts is made of. */
import type { KeyPath } from '../../../team/document.ts';

/** What the disk says of the names in a file. */
export interface PublishedFacts {
  readonly isFolder: (path: string) => boolean;
  /** Problems in a file; null where there is no such file. */
  readonly problemsIn: (path: string) => number | null;
}

/** What the user should know of a key. */
export interface PublishedNote {
  /** Where the file has it, or would have it. */
  readonly path: KeyPath;
  /** Goes after the path. */
  readonly sentence: string;
  /** Whether it is probably not what was meant. */
  readonly warns: boolean;
}

/** A key of our own with its value and where that is from. */
export type Row = readonly [own: string, value: unknown, from: KeyPath];

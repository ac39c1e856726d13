/** The result of examining a store. */

import { integer, list, nullable, object, text, type Guarded } from '../guard.ts';

/**
 * The extent of an examination. pages: the pages of the file alone, so that reading it ends. sampled:
 * also its rows, with the hashes of a sample. all: also all hashes.
 */
export type ExaminedExtent = 'pages' | 'sampled' | 'all';

const count = integer();

export const isStoreExamination = object({
  /** One sentence for each fault; empty if none was found. */
  findings: list(text()),
  /** One sentence on the extent of the examination. */
  extent: text(),
  /**
   * The reason why C3 does not use the file at all. This may be no damage: it has a newer version, or is
   * not a store.
   */
  refusal: nullable(text()),
  /** Null if they could not be read. */
  counts: nullable(
    object({
      runs: count,
      instances: count,
      messages: count,
      episodes: count,
      buckets: count,
      replays: count,
      texts: count,
    }),
  ),
});

export type StoreExamination = Guarded<typeof isStoreExamination>;

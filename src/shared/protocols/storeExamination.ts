/** What was found when a store was examined. */
import { integer, list, nullable, object, text, type Guarded } from '../guard.ts';

/**
 * How far a store is examined: the pages of the file alone, so that reading it ends; also its rows, with the hashes of
 * a sample; or with the hashes of all.
 */
export type ExaminedExtent = 'pages' | 'sampled' | 'all';

const count = integer();

export const isStoreExamination = object({
  /** One sentence for each thing that is wrong; empty for a store that is whole as far as can be known. */
  findings: list(text()),
  /** How far that is, one sentence. */
  extent: text(),
  /** Why C3 does not use the file at all, which may be no damage: it is of a newer version, or none of ours. */
  refusal: nullable(text()),
  /** Null where they could not be had. */
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

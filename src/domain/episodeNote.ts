/** The user's remarks on an episode: a score, a note and tags. */

import type { ReturnRange } from '../shared/credit/creditPool.ts';
import { findNoteOrTagFault } from './run.ts';

export interface EpisodeNote {
  /** Null if the user gave none. */
  readonly score: number | null;
  /** Any number of lines; empty for no note. */
  readonly note: string;
  readonly tags: readonly string[];
}

export const NO_EPISODE_NOTE: EpisodeNote = { score: null, note: '', tags: [] };

/** A field that is left out keeps its value. */
export interface NoteEpisodeParams extends Partial<EpisodeNote> {
  /** A message that belongs to this episode only. */
  readonly message: number;
}

/** A note as it is stored. */
export interface StoredEpisodeNote extends EpisodeNote {
  readonly author: string;
  /** ISO 8601. */
  readonly createdAt: string;
  /** True if the score is the return of the episode because neither an evaluator nor its log scored it. */
  readonly isReturn: boolean;
}

export interface NotedEpisode extends EpisodeNote {
  /** The last message of the episode. */
  readonly episode: number;
  /** As in StoredEpisodeNote. */
  readonly isReturn: boolean;
}

/** The range of scores for an episode of a run whose evaluator is unknown. */
export const UNKNOWN_RANGE: ReturnRange = { low: 0, high: 1 };

/** Returns the fault in a note, as a sentence, or null. @param range of the run's returns */
export function episodeNoteFault({ score, ...words }: EpisodeNote, { low, high }: ReturnRange): string | null {
  // NaN lies between no bounds.
  return score === null || (score >= low && score <= high)
    ? findNoteOrTagFault(words, 'An episode')
    : `A score of this run is a number from ${low} to ${high}.`;
}

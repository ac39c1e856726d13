/** What the user says of an episode: a score, a note and tags. */
import type { ReturnRange } from '../shared/credit/creditPool.ts';
import { wordsFault } from './run.ts';

export interface EpisodeNote {
  /** Null where the user gave none. */
  readonly score: number | null;
  /** Any number of lines; empty where nothing is said. */
  readonly note: string;
  readonly tags: readonly string[];
}

export const NO_EPISODE_NOTE: EpisodeNote = { score: null, note: '', tags: [] };

/** A field that is left out keeps its value. */
export interface NoteEpisodeParams extends Partial<EpisodeNote> {
  /** A message of the episode, and of no other one. */
  readonly message: number;
}

/** What is stored of it. */
export interface StoredEpisodeNote extends EpisodeNote {
  readonly author: string;
  /** ISO 8601. */
  readonly createdAt: string;
  /** Whether the score is what the episode returned: neither an evaluator nor its log scored it. */
  readonly isReturn: boolean;
}

export interface NotedEpisode extends EpisodeNote {
  /** The last message of the episode. */
  readonly episode: number;
  /** As of StoredEpisodeNote. */
  readonly isReturn: boolean;
}

/** The scores of an episode of a run whose evaluator is not known. */
export const UNKNOWN_RANGE: ReturnRange = { low: 0, high: 1 };

/** What keeps a note from being stored, as a sentence; null where nothing does. @param range of the run's returns */
export function episodeNoteFault({ score, ...words }: EpisodeNote, { low, high }: ReturnRange): string | null {
  // NaN lies between no bounds.
  return score === null || (score >= low && score <= high)
    ? wordsFault(words, 'An episode')
    : `A score of this run is a number from ${low} to ${high}.`;
}

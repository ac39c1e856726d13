/** Changes the user's own score, note and tags of episodes. */

import { episodeNoteFault, UNKNOWN_RANGE, type EpisodeNote } from '../../domain/episodeNote.ts';
import { parseTags } from '../../domain/run.ts';
import type { ReturnRange } from '../../shared/credit/creditPool.ts';
import { C3Error } from '../../shared/errors.ts';
import type { StoreReader } from '../../store/types.ts';

/** Most episodes that an error lists. */
const LISTED = 12;

/**
 * Returns the last message of the one episode that contains a message.
 * @throws C3Error('input') for a message that is not in the store, is shared by several episodes,
 *   or is of a replay
 */
export function findEpisodeLeaf(store: Pick<StoreReader, 'message' | 'lastMessages'>, id: number): number {
  if (store.message(id).phase === 'replay') {
    throw new C3Error(
      'input',
      `Message ${id} belongs to a replay, not to an episode of its run; name a message of the episode that was ` +
        'replayed.',
    );
  }
  const [only, ...others] = store.lastMessages(id);
  if (only === undefined || others.length > 0) {
    const named = [only, ...others].slice(0, LISTED).join(', ');
    const more = others.length < LISTED ? '' : ` or ${others.length + 1 - LISTED} more`;
    throw new C3Error(
      'input',
      `Message ${id} is in ${others.length + 1} episodes; name the last message of one: ` + `${named}${more}.`,
    );
  }
  return only;
}

/**
 * Applies changes to the note of an episode.
 * @param range range of the run's returns, or null if unknown
 * @throws C3Error('input') if the result cannot be stored
 */
export function applyEpisodeNoteChanges(
  before: EpisodeNote,
  changes: Partial<EpisodeNote>,
  range: ReturnRange | null,
): EpisodeNote {
  const { score, note, tags } = { ...before, ...changes };
  const changed = { score, note: note.trim(), tags: parseTags(tags.join(',')) };
  const fault = episodeNoteFault(changed, range ?? UNKNOWN_RANGE);
  if (fault !== null) {
    throw new C3Error('input', fault);
  }
  return changed;
}

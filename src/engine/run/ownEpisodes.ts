/** What a user does with the episodes of a store: a score of their own, a note and tags. */
import { episodeNoteFault, UNKNOWN_RANGE, type EpisodeNote } from '../../domain/episodeNote.ts';
import { tagsOf } from '../../domain/run.ts';
import type { ReturnRange } from '../../shared/credit/creditPool.ts';
import { C3Error } from '../../shared/errors.ts';
import type { StoreReader } from '../../store/types.ts';

/** Episodes that an error lists. */
const LISTED = 12;

/**
 * The last message of the one episode that goes through a message.
 * @throws C3Error('input') for a message that is not in the store, that several episodes share, or of a replay
 */
export function episodeOf(store: Pick<StoreReader, 'message' | 'lastMessages'>, id: number): number {
  if (store.message(id).phase === 'replay') {
    throw new C3Error(
      'input',
      `Message ${id} is of a replay, and no episode of its run; name a message of the episode that was ` + 'replayed.',
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
 * What is said of an episode with changes.
 * @param range of the run's returns; null where it is not known
 * @throws C3Error('input') for what cannot be stored
 */
export function changedEpisodeNote(
  before: EpisodeNote,
  changes: Partial<EpisodeNote>,
  range: ReturnRange | null,
): EpisodeNote {
  const { score, note, tags } = { ...before, ...changes };
  const changed = { score, note: note.trim(), tags: tagsOf(tags.join(',')) };
  const fault = episodeNoteFault(changed, range ?? UNKNOWN_RANGE);
  if (fault !== null) {
    throw new C3Error('input', fault);
  }
  return changed;
}

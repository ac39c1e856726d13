/** What the user says of the episode of a message. */
import type { StoredEpisodeNote } from '../../../src/domain/episodeNote.ts';
import { returnText } from '../../common/format.ts';
import { shownText } from '../../common/shownText.ts';
import { fact } from './fact.ts';

/** Its score, tags and note, each where there is one. */
export function notedFacts(noted: StoredEpisodeNote | null): readonly HTMLElement[] {
  if (noted === null) {
    return [];
  }
  const { score, tags, note, isReturn } = noted;
  const counts = isReturn ? 'the return of the episode' : 'beside its return';
  return [
    ...(score === null ? [] : fact('By hand', `${returnText(score)}, ${counts}`)),
    ...(tags.length === 0 ? [] : fact('Tags', ...shownText(tags.join(', ')))),
    ...(note === '' ? [] : fact('Note', ...shownText(note))),
  ];
}

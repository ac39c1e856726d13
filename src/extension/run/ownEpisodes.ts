/** Asks for the user's score, note and tags of an episode. */

import { window } from 'vscode';
import { BY_HAND } from '../../domain/episode.ts';
import { episodeNoteFault, NO_EPISODE_NOTE, UNKNOWN_RANGE, type EpisodeNote } from '../../domain/episodeNote.ts';
import { LONGEST_NOTE, parseTags } from '../../domain/run.ts';
import type { ReturnRange } from '../../shared/credit/creditPool.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import { withoutIcons } from '../common/plainText.ts';
import type { Services } from '../services.ts';

/** Maximum length of a message in a list, in characters. */
const SHOWN = 200;
/** Maximum number of episodes in a list. */
const LISTED = 500;

/** The episode that a question is about. */
interface AskedEpisode {
  readonly before: EpisodeNote;
  readonly range: ReturnRange;
  /** The return from the evaluator or the log, or null if there is none. */
  readonly returned: number | null;
}

interface Question {
  readonly title: string;
  readonly prompt: string;
  readonly value: string;
  readonly changes: (typed: string) => Partial<EpisodeNote>;
}

const QUESTIONS: Readonly<Record<keyof EpisodeNote, (asked: AskedEpisode) => Question>> = {
  score: ({ before, range, returned }) => ({
    title: 'Score episode',
    prompt: `${range.low} to ${range.high}, ${describeScoreUse(returned)}; leave it empty to remove the score`,
    value: before.score === null ? '' : String(before.score),
    changes: (typed) => ({ score: typed.trim() === '' ? null : Number(typed) }),
  }),
  note: ({ before }) => ({
    title: "Edit episode's note",
    prompt: `A note on the episode, up to ${LONGEST_NOTE.toLocaleString('en')} characters`,
    value: before.note,
    changes: (typed) => ({ note: typed }),
  }),
  tags: ({ before }) => ({
    title: "Edit episode's tags",
    prompt: 'Tags of the episode, with commas between them; tag:WORD in the search of the episodes finds them',
    value: before.tags.join(', '),
    changes: (typed) => ({ tags: parseTags(typed) }),
  }),
};

const describeScoreUse = (returned: number | null): string =>
  returned === null
    ? 'used as the return if the episode was recorded and has no other score'
    : `shown beside the return ${returned}, and used nowhere else`;

/** Asks for a new score, note or tags of an episode. @param episode its last message */
export async function askForEpisodeNote(
  { engine, store }: Services,
  reader: StoreReader,
  episode: number,
  part: keyof EpisodeNote,
): Promise<void> {
  const asked = readAskedEpisode(reader, episode);
  const { changes, ...question } = QUESTIONS[part](asked);
  const typed = await window.showInputBox({
    ...question,
    // The panel that opened the menu may take the focus late.
    ignoreFocusOut: true,
    validateInput: (value) => episodeNoteFault({ ...asked.before, ...changes(value) }, asked.range),
  });
  if (typed !== undefined) {
    await engine.client().noteEpisode({ message: episode, ...changes(typed) });
    store.touch();
  }
}

function readAskedEpisode(reader: StoreReader, episode: number): AskedEpisode {
  const { run, return: value, byHand } = reader.message(episode);
  return {
    before: reader.episodeNote(episode) ?? NO_EPISODE_NOTE,
    range: reader.returnScale(run) ?? UNKNOWN_RANGE,
    returned: byHand === true ? null : value,
  };
}

/** Lets the user choose an episode if there are several. Returns undefined if the user canceled. */
export async function pickEpisode(reader: StoreReader, ends: readonly number[]): Promise<number | undefined> {
  const [only, ...others] = ends;
  if (only === undefined || others.length === 0) {
    return only;
  }
  const items = reader
    .messages(ends.slice(0, LISTED))
    .map(({ id, return: value, byHand, text }, index) => ({
      label: `Episode ${index + 1} of ${ends.length}`,
      description: value === null ? 'no return' : `return ${value}${byHand === true ? `, ${BY_HAND}` : ''}`,
      detail: withoutIcons(toOneLine(text, SHOWN)),
      id,
    }));
  const listed = items.length < ends.length ? ` The first ${items.length} are listed.` : '';
  const options = { title: `Which episode?${listed}`, matchOnDetail: true, ignoreFocusOut: true };
  return (await window.showQuickPick(items, options))?.id;
}

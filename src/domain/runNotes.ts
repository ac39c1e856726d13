/** What a user calls a run and says of it. */

export interface RunNote {
  readonly title: string;
  /** Any number of lines; empty where nothing is said. */
  readonly note: string;
  readonly tags: readonly string[];
}

/** A field that is left out keeps its value. */
export interface NoteRunParams extends Partial<RunNote> {
  readonly run: string;
}

export const LONGEST_TITLE = 200;
export const LONGEST_NOTE = 10_000;
const MOST_TAGS = 20;
const LONGEST_TAG = 40;

/** Tags as they are typed, with commas between them: trimmed, each once. */
export function tagsOf(typed: string): readonly string[] {
  return [
    ...new Set(
      typed
        .split(',')
        .map((tag) => tag.replace(/\s+/gu, ' ').trim())
        .filter((tag) => tag !== ''),
    ),
  ];
}

/** What keeps a note from being stored, as a sentence; null where nothing does. */
export function noteProblem({ title, note, tags }: RunNote): string | null {
  if (title.trim() === '' || title.length > LONGEST_TITLE || /[\n\r]/u.test(title)) {
    return `A title is one line of 1 to ${String(LONGEST_TITLE)} characters.`;
  }
  if (note.length > LONGEST_NOTE) {
    return `A note has up to ${LONGEST_NOTE.toLocaleString('en')} characters.`;
  }
  if (tags.length > MOST_TAGS || tags.some((tag) => tag.length > LONGEST_TAG)) {
    return `A run has up to ${String(MOST_TAGS)} tags of up to ${String(LONGEST_TAG)} characters.`;
  }
  return null;
}

/** Asks for titles, notes and tags of runs, and deletes runs. */

import { ProgressLocation, window } from 'vscode';
import { LONGEST_NOTE, noteFault, parseTags, type RunNote, type RunRecord } from '../../domain/run.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';
import { formatBytes } from '../../shared/text/sizes.ts';
import { withoutLinks } from '../common/plainText.ts';
import type { Services } from '../services.ts';

/** Maximum length of a title within a sentence, in characters. */
const TITLE = 80;

interface Question {
  readonly title: string;
  readonly prompt: string;
  readonly value: string;
  readonly changes: (typed: string) => Partial<RunNote>;
}

const QUESTIONS: Readonly<Record<keyof RunNote, (run: RunRecord) => Question>> = {
  title: ({ title }) => ({
    title: 'Rename run',
    prompt: 'Title of the run; its configuration stays as it was recorded',
    value: title,
    changes: (typed) => ({ title: typed }),
  }),
  note: ({ note, title }) => ({
    title: 'Edit note',
    prompt: `A note on "${toOneLine(title, TITLE)}", up to ${LONGEST_NOTE.toLocaleString('en')} characters`,
    value: note,
    changes: (typed) => ({ note: typed }),
  }),
  tags: ({ tags, title }) => ({
    title: 'Edit tags',
    prompt: `Tags of "${toOneLine(title, TITLE)}", with commas between them; the filter of the runs finds them`,
    value: tags.join(', '),
    changes: (typed) => ({ tags: parseTags(typed) }),
  }),
};

/** Asks for a new title, note or tags of a run. */
export async function askForNote({ engine, store }: Services, run: RunRecord, part: keyof RunNote): Promise<void> {
  const { changes, ...question } = QUESTIONS[part](run);
  const typed = await window.showInputBox({
    ...question,
    validateInput: (value) => noteFault({ ...run, ...changes(value) }),
  });
  if (typed !== undefined) {
    await engine.client().noteRun({ run: run.id, ...changes(typed) });
    store.touch();
  }
}

/** Deletes a run after a confirmation. @returns true if it was deleted */
export async function askAndDelete({ engine, store }: Services, { id, title }: RunRecord): Promise<boolean> {
  const shown = toOneLine(title, TITLE);
  const detail =
    'Its transcripts, replays, credits and labels are removed from the store of this folder, with its weights, and the store becomes smaller. This cannot be undone.';
  const question = withoutLinks(`Delete the run "${shown}"?`);
  if ((await window.showWarningMessage(question, { modal: true, detail }, 'Delete')) !== 'Delete') {
    return false;
  }
  const bytes = await window.withProgress(
    { location: ProgressLocation.Window, title: withoutLinks(`C3: deleting "${shown}"`) },
    () => engine.client().deleteRun({ run: id }),
  );
  store.touch();
  void window.showInformationMessage(withoutLinks(`"${shown}" is deleted; ${formatBytes(bytes)} are free now.`));
  return true;
}

/** The command "Import agent log", which imports recordings of other programs as runs. */

import { ProgressLocation, window, type Uri } from 'vscode';
import { describeImport, writeImportNotice, type LogImport } from '../../domain/episode.ts';
import { CLEAREST_FIRST, NO_PROBLEM_FILTER } from '../../domain/problem.ts';
import { toErrorMessage } from '../../shared/errors.ts';
import type { ImportLogParams } from '../../shared/protocols/engineProtocol.ts';
import { parseSpeakerRenames, type Rename } from '../../shared/speakerNames.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import { withoutLinks } from '../common/plainText.ts';
import type { Services } from '../services.ts';

/** Opens the transcript or the episodes of an imported run. */
export interface ImportedViews {
  readonly transcript: (opening: NonNullable<ReturnType<StoreReader['problemOpening']>>) => void;
  readonly episodes: (run: string) => void;
}

/**
 * Asks for the file and for the masking of keys, and imports it. Opens the transcript, or the list of
 * episodes if there are several. Imports nothing if the user cancels.
 */
export async function importLog(services: Services, views: ImportedViews): Promise<void> {
  const client = services.engine.client();
  const wanted = await askForLog();
  if (wanted === null) {
    return;
  }
  const importing = async (params: ImportLogParams): Promise<void> => {
    const report = await window.withProgress({ location: ProgressLocation.Window, title: 'Importing the log' }, () =>
      client.importLog(params),
    );
    await showImported(services, views, report, async () => {
      const renames = await askForNames(report);
      if (renames.length > 0) {
        await importing({ ...params, renames });
      }
    });
  };
  await importing({ path: wanted.file.fsPath, maskSecrets: wanted.maskSecrets });
}

const RENAME = 'Rename Speakers…';
const SHOW_LOG = 'Show Log';
const isRenamedSpeaker = ({ by }: LogImport['speakers'][number]): boolean => by === 'renamed';

/** Asks for new names of a log's speakers. Returns none if the user canceled. */
async function askForNames({ speakers }: LogImport): Promise<readonly Rename[]> {
  const typed = await window.showInputBox({
    title: 'Rename speakers',
    prompt: 'Write a new name after each =. The log is imported again with these names; the existing run is kept.',
    value: speakers.map(({ name }) => `${name}=${name}`).join('; '),
    ignoreFocusOut: true,
    validateInput: (text) => {
      try {
        parseRenames(text);
        return null;
      } catch (error) {
        return toErrorMessage(error);
      }
    },
  });
  return typed === undefined ? [] : parseRenames(typed);
}

/**
 * Parses a list `old=new; …` and returns the names that differ. @throws C3Error('input') if it is
 * malformed
 */
const parseRenames = (text: string): readonly Rename[] =>
  parseSpeakerRenames(text.split(';').filter((one) => one.trim() !== '')).filter(([old, name]) => old !== name);

/**
 * Notifies about an import, and opens its transcript, or the list of episodes if there are several.
 * @param rename renames the speakers; missing if that is no longer possible
 */
export async function showImported(
  { log, store }: Services,
  views: ImportedViews,
  report: LogImport,
  rename?: () => Promise<void>,
): Promise<void> {
  for (const line of describeImport(report)) {
    log.info(line);
  }
  const isRenamable = rename !== undefined && report.speakers.length > 0 && !report.speakers.some(isRenamedSpeaker);
  void window
    .showInformationMessage(withoutLinks(writeImportNotice(report)), ...(isRenamable ? [RENAME] : []), SHOW_LOG)
    .then((choice) => (choice === RENAME ? rename?.() : choice === SHOW_LOG ? log.show() : undefined))
    .then(undefined, (error: unknown) => window.showErrorMessage(withoutLinks(toErrorMessage(error))));
  if (report.episodes === 0) {
    return;
  }
  store.touch();
  // The first import creates the store, which is then examined.
  await store.pending();
  const reader = store.reader();
  const query = { run: report.run, filter: NO_PROBLEM_FILTER, sort: CLEAREST_FIRST, classes: {} };
  const [only, ...others] = reader?.problemIds(query) ?? [];
  const opening = only === undefined || others.length > 0 ? null : (reader?.problemOpening(only, null) ?? null);
  if (opening === null) {
    views.episodes(report.run);
  } else {
    views.transcript(opening);
  }
}

/** Asks for the file and for the masking of keys. Returns null if the user canceled. */
async function askForLog(): Promise<{ readonly file: Uri; readonly maskSecrets: boolean } | null> {
  const [file] =
    (await window.showOpenDialog({
      title: 'Import agent log',
      openLabel: 'Import',
      filters: { 'Logs of agents': ['json', 'jsonl', 'ndjson', 'eval', 'sqlite', 'sqlite3', 'db'], 'All files': ['*'] },
    })) ?? [];
  if (file === undefined) {
    return null;
  }
  const maskSecrets = await askForMasking('Import agent log');
  return maskSecrets === undefined ? null : { file, maskSecrets };
}

/** Asks if keys are to be masked. Returns undefined if the user canceled. */
export async function askForMasking(
  title: string,
  placeHolder = 'Mask what looks like a key?',
): Promise<boolean | undefined> {
  const masked = {
    label: 'Mask keys',
    detail: 'Texts that look like API keys or bearer tokens are masked before anything is stored.',
  };
  const kept = { label: 'Keep texts as they are', detail: 'Everything is stored as it is.' };
  const choice = await window.showQuickPick([masked, kept], { title, placeHolder, ignoreFocusOut: true });
  return choice === undefined ? undefined : choice === masked;
}

/** The button "Keep", which writes a change that was tried into a configuration in the editor. */

import { dirname } from 'node:path';
import { Range, window, workspace, WorkspaceEdit, type QuickPickItem, type TextDocument, type Uri } from 'vscode';
import { describeTeamChange } from '../../domain/trial.ts';
import { C3Error } from '../../shared/errors.ts';
import { isRecord } from '../../shared/guard.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import { withoutIcons } from '../common/plainText.ts';
import { loadService, type Service } from '../configuration/load.ts';
import { openConfiguration } from '../configuration/newConfiguration.ts';
import type { KeptTrial } from './keptTrial.ts';

const CONFIGURATIONS = '**/*.c3.yaml';
const ELSEWHERE = '**/{node_modules,.git,.c3}/**';
const MOST_FILES = 200;
/** Maximum number of keys that are named beside a file. */
const MOST_KEYS = 4;

interface FileItem extends QuickPickItem {
  /** The configuration, or null for a new one. */
  readonly file: Uri | null;
}

/**
 * Asks for a configuration, writes the change into it and shows it. Saves the file unless it had
 * unsaved changes.
 * @returns the name of the configuration, or null if the user canceled
 * @throws C3Error('input') with one sentence if the change cannot be written
 */
export async function keepChange(
  { change, trial: { run, servers } }: KeptTrial,
  reader: StoreReader,
): Promise<string | null> {
  const service = await loadService();
  const stored = reader.runConfig(run);
  const protocol = service.runTeam(stored);
  if (protocol === null) {
    throw new C3Error('input', 'The configuration of this run cannot be read, so no change of it can be kept.');
  }
  const keysFor = (folder: string): ReturnType<Service['keptKeys']> =>
    service.keptKeys(change, { run, stored, protocol, servers }, folder);
  // Throws before the question if a configuration cannot express the change.
  keysFor(workspace.workspaceFolders?.[0]?.uri.fsPath ?? '');
  const chosen = await window.showQuickPick(listConfigurationItems(service, stored), {
    title: `Keep: ${withoutIcons(describeTeamChange(change))}`,
    placeHolder: 'In which configuration?',
    matchOnDescription: true,
    ignoreFocusOut: true,
  });
  if (chosen === undefined) {
    return null;
  }
  if (chosen.file === null) {
    const text = service.recordedText(stored);
    if (text === null) {
      throw new C3Error('input', 'This run has no configuration that could be written.');
    }
    await openConfiguration(service.withKeys(text, keysFor(readRunFolder(stored))));
    return 'a new configuration, which is not saved yet';
  }
  const document = await workspace.openTextDocument(chosen.file);
  return writeConfigurationEdit(document, service.withKeys(document.getText(), keysFor(dirname(chosen.file.fsPath))));
}

/** Returns the configurations, those that differ least from that of the run first. */
async function listConfigurationItems(service: Service, stored: string): Promise<FileItem[]> {
  const files = await workspace.findFiles(CONFIGURATIONS, ELSEWHERE, MOST_FILES);
  const compared = await Promise.all(
    files.map(async (file) => ({ file, keys: service.differingKeys(await readEditorText(file), stored) })),
  );
  const ordered = compared
    .map((one) => ({ ...one, label: workspace.asRelativePath(one.file) }))
    .sort((a, b) => (a.keys?.length ?? Infinity) - (b.keys?.length ?? Infinity) || (a.label < b.label ? -1 : 1));
  return [
    ...ordered.map(({ file, label, keys }): FileItem => ({
      label: withoutIcons(label),
      description: withoutIcons(describeDifference(keys)),
      file,
    })),
    { label: 'A new configuration…', description: 'what the run used, with the change', file: null },
  ];
}

function describeDifference(keys: readonly string[] | null): string {
  if (keys === null) {
    return 'cannot be compared with the run: it has problems';
  }
  const more = keys.length > MOST_KEYS ? ` and ${keys.length - MOST_KEYS} more` : '';
  return keys.length === 0
    ? 'what the run used'
    : `differs from what the run used in ${keys.slice(0, MOST_KEYS).join(', ')}${more}`;
}

/** Returns the text of a file, as it is in the editor if it is open. */
async function readEditorText(file: Uri): Promise<string> {
  const open = workspace.textDocuments.find(({ uri }) => uri.toString() === file.toString());
  return open?.getText() ?? new TextDecoder().decode(await workspace.fs.readFile(file));
}

/** Returns the folder that the paths of a run's configuration are relative to. */
function readRunFolder(stored: string): string {
  const recipe: unknown = JSON.parse(stored);
  return isRecord(recipe) && typeof recipe['folder'] === 'string' ? recipe['folder'] : '';
}

async function writeConfigurationEdit(document: TextDocument, text: string): Promise<string> {
  const name = workspace.asRelativePath(document.uri);
  const wasDirty = document.isDirty;
  const before = document.getText();
  const start = countCommonStart(before, text);
  const end = countCommonStart(reverseText(before.slice(start)), reverseText(text.slice(start)));
  const edit = new WorkspaceEdit();
  edit.replace(
    document.uri,
    new Range(document.positionAt(start), document.positionAt(before.length - end)),
    text.slice(start, text.length - end),
  );
  if (!(await workspace.applyEdit(edit))) {
    throw new C3Error('input', `The editor refused to change ${name}; try again.`);
  }
  const isSaved = !wasDirty && (await document.save());
  const changed = new Range(document.positionAt(start), document.positionAt(text.length - end));
  await window.showTextDocument(document, { selection: changed, preview: false });
  return isSaved ? name : `${name}, which is not saved yet`;
}

const reverseText = (text: string): string => text.split('').reverse().join('');

/** Returns the length of the common start of two texts, in UTF-16 units. */
function countCommonStart(one: string, other: string): number {
  const most = Math.min(one.length, other.length);
  let at = 0;
  while (at < most && one[at] === other[at]) {
    at++;
  }
  return at;
}

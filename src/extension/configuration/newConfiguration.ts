/** Opens configurations as unsaved documents. Nothing is written to the disk before the user saves. */

import { join } from 'node:path';
import { Position, Uri, window, workspace, WorkspaceEdit, type TextDocument } from 'vscode';
import { C3Error } from '../../shared/errors.ts';
import { findFreeName } from '../model/modelConfiguration.ts';
import { CONFIGURATION_LANGUAGE } from './language.ts';
import { loadService } from './load.ts';

const NAME = 'run.c3.yaml';

export async function newConfiguration(): Promise<void> {
  await openConfiguration((await loadService()).templateText());
}

/** Opens a text as an unsaved configuration. */
export async function openConfiguration(text: string): Promise<void> {
  await window.showTextDocument(await createUnsavedDocument(text), { preview: false });
}

/**
 * Opens the configuration of a recorded run, to be read, copied or started again.
 * @param stored the run's recipe as the store holds it
 * @throws C3Error('input') if it holds no configuration
 */
export async function openRecordedConfiguration(stored: string): Promise<void> {
  const text = (await loadService()).recordedText(stored);
  if (text === null) {
    throw new C3Error('input', 'This run was recorded elsewhere and has no configuration.');
  }
  await openConfiguration(text);
}

/** Creates an unsaved document. Its first save goes to the workspace folder, or asks if there is none. */
async function createUnsavedDocument(text: string): Promise<TextDocument> {
  const home = workspace.workspaceFolders?.[0]?.uri;
  if (home?.scheme !== 'file') {
    return workspace.openTextDocument({ language: CONFIGURATION_LANGUAGE, content: text });
  }
  const open = new Set(workspace.textDocuments.map(({ uri }) => uri.fsPath));
  const taken = await listFileNames(home);
  const file = Uri.file(
    join(
      home.fsPath,
      findFreeName(NAME, (name) => taken.has(name) || open.has(join(home.fsPath, name))),
    ),
  );
  const document = await workspace.openTextDocument(file.with({ scheme: 'untitled' }));
  const edit = new WorkspaceEdit();
  edit.insert(document.uri, new Position(0, 0), text);
  await workspace.applyEdit(edit);
  return document;
}

async function listFileNames(folder: Uri): Promise<ReadonlySet<string>> {
  return new Set((await workspace.fs.readDirectory(folder)).map(([name]) => name));
}

/** "New configuration": opens a commented template in the editor. Nothing is written to the disk before it is saved. */
import { join } from 'node:path';
import { Position, Uri, window, workspace, WorkspaceEdit, type TextDocument } from 'vscode';
import { C3Error } from '../../shared/errors.ts';
import { freeName } from '../model/modelConfiguration.ts';
import { CONFIGURATION_LANGUAGE } from './language.ts';
import { loadService } from './load.ts';

const NAME = 'run.c3.yaml';

export async function newConfiguration(): Promise<void> {
  await openConfiguration((await loadService()).templateText());
}

/** Opens a text as a configuration that is not saved yet. */
export async function openConfiguration(text: string): Promise<void> {
  await window.showTextDocument(await documentWith(text), { preview: false });
}

/**
 * "Open run configuration": what a run was recorded with, to be read, copied or started again.
 * @throws C3Error('input') where it has none
 */
export async function openRecorded(stored: string): Promise<void> {
  const text = (await loadService()).recordedText(stored);
  if (text === null) {
    throw new C3Error('input', 'This run was recorded elsewhere and has no configuration.');
  }
  await openConfiguration(text);
}

/** Saved with its first save in the workspace folder; without a folder, where the user says. */
async function documentWith(text: string): Promise<TextDocument> {
  const home = workspace.workspaceFolders?.[0]?.uri;
  if (home?.scheme !== 'file') {
    return workspace.openTextDocument({ language: CONFIGURATION_LANGUAGE, content: text });
  }
  const open = new Set(workspace.textDocuments.map(({ uri }) => uri.fsPath));
  const taken = await namesIn(home);
  const file = Uri.file(
    join(
      home.fsPath,
      freeName(NAME, (name) => taken.has(name) || open.has(join(home.fsPath, name))),
    ),
  );
  const document = await workspace.openTextDocument(file.with({ scheme: 'untitled' }));
  const edit = new WorkspaceEdit();
  edit.insert(document.uri, new Position(0, 0), text);
  await workspace.applyEdit(edit);
  return document;
}

async function namesIn(folder: Uri): Promise<ReadonlySet<string>> {
  return new Set((await workspace.fs.readDirectory(folder)).map(([name]) => name));
}

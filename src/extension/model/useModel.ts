/**
 * "Use for the next run": writes a configuration with the model, opens it and offers to start it. No file is written
 * unasked.
 */
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { commands, Uri, window, workspace, type QuickPickItem } from 'vscode';
import { C3Error, messageOf } from '../../shared/errors.ts';
import type { ModelSettings } from '../../shared/protocols/modelProtocol.ts';
import { withoutLinks } from '../common/plainText.ts';
import { confirmed } from '../webview/confirm.ts';
import { configurationName, configurationText, freeName } from './modelConfiguration.ts';

interface ExistsItem extends QuickPickItem {
  readonly answer: 'open' | 'beside' | 'replace';
}

/** @throws C3Error('input') where no folder is open or the file cannot be written */
export async function useModel(folder: string, settings: ModelSettings): Promise<void> {
  const home = workspace.workspaceFolders?.[0]?.uri;
  if (home?.scheme !== 'file') {
    throw new C3Error('input', 'Open a folder first: the configuration of the run is written there.');
  }
  const name = await provide(home.fsPath, configurationName(folder), configurationText(folder, home.fsPath, settings));
  if (name === undefined) {
    return;
  }
  const file = Uri.file(join(home.fsPath, name));
  await window.showTextDocument(await workspace.openTextDocument(file), { preview: false });
  const start = 'Start run';
  if (
    (await window.showInformationMessage(withoutLinks(`${name} describes a run with this model.`), start)) === start
  ) {
    await commands.executeCommand('c3.startRun', file);
  }
}

/** The name of a file with that text, or of one that the user takes instead; undefined where the question was left. */
async function provide(home: string, name: string, text: string): Promise<string | undefined> {
  if (
    !existsSync(join(home, name)) &&
    !(await confirmed(`Write ${name} into this folder? It describes a run with this model.`, 'Write', text))
  ) {
    return undefined;
  }
  if (await write(join(home, name), text, false)) {
    return name;
  }
  if ((await readFile(join(home, name), 'utf8').catch(() => null)) === text) {
    return name;
  }
  const other = freeName(name, (candidate) => existsSync(join(home, candidate)));
  const items: readonly ExistsItem[] = [
    { label: `Open ${name}`, description: 'unchanged', answer: 'open' },
    { label: `Write ${other}`, description: 'as a second file', answer: 'beside' },
    { label: `Replace ${name}`, description: 'its current text is lost', answer: 'replace' },
  ];
  const chosen = await window.showQuickPick(items, {
    title: 'Use for the next run',
    placeHolder: `${name} already exists with other text.`,
  });
  switch (chosen?.answer) {
    case undefined:
      return undefined;
    case 'open':
      return name;
    case 'beside':
      if (!(await write(join(home, other), text, false))) {
        throw new C3Error('input', `${join(home, other)} was created in the meantime; try again.`);
      }
      return other;
    case 'replace':
      await write(join(home, name), text, true);
      return name;
  }
}

/** @returns false, with nothing changed, where the file is there and may not be replaced */
async function write(path: string, text: string, replace: boolean): Promise<boolean> {
  try {
    await writeFile(path, text, { flag: replace ? 'w' : 'wx' });
    return true;
  } catch (error) {
    if (!replace && typeof error === 'object' && error !== null && 'code' in error && error.code === 'EEXIST') {
      return false;
    }
    throw new C3Error('input', `Cannot write ${path}: ${messageOf(error)}; choose a folder that is writable.`, {
      cause: error,
    });
  }
}

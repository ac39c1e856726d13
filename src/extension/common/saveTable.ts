/** Saves tables to a file that the user chooses. */

import { Uri, window, workspace } from 'vscode';
import { toErrorMessage, C3Error } from '../../shared/errors.ts';

const KINDS = { csv: 'Comma-separated values', jsonl: 'JSON Lines' } as const;

/**
 * Asks for a file and writes a table to it.
 * @param name the proposed file name without its extension, in the workspace folder
 * @returns true if the table was saved
 * @throws C3Error('store') if the file cannot be written
 */
export async function saveTable(name: string, kind: keyof typeof KINDS, text: string): Promise<boolean> {
  const folder = workspace.workspaceFolders?.[0]?.uri;
  const file = await window.showSaveDialog({
    title: 'Save table',
    filters: { [KINDS[kind]]: [kind] },
    ...(folder !== undefined && { defaultUri: Uri.joinPath(folder, `${name}.${kind}`) }),
  });
  if (file === undefined) {
    return false;
  }
  try {
    await workspace.fs.writeFile(file, new TextEncoder().encode(text));
    return true;
  } catch (error) {
    throw new C3Error('store', `${file.fsPath} cannot be written: ${toErrorMessage(error)}; choose another file.`);
  }
}

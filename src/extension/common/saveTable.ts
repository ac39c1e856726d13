/** Saves a table where its user says. */
import { Uri, window, workspace } from 'vscode';
import { messageOf, C3Error } from '../../shared/errors.ts';

const KINDS = { csv: 'Comma-separated values', jsonl: 'JSON Lines' } as const;

/**
 * @param name of the file that is proposed, in the folder of the workspace
 * @returns whether it was saved
 * @throws C3Error('store') where it cannot be written
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
    throw new C3Error('store', `${file.fsPath} cannot be written: ${messageOf(error)}; choose another file.`);
  }
}

/** Saves a table where its user says. */
import { Uri, window, workspace } from 'vscode';
import { messageOf, C3Error } from '../../shared/errors.ts';

/** @param name of the file that is proposed, in the folder of the workspace @throws C3Error('store') */
export async function saveCsv(name: string, text: string): Promise<void> {
  const folder = workspace.workspaceFolders?.[0]?.uri;
  const file = await window.showSaveDialog({
    title: 'Save table',
    filters: { 'Comma-separated values': ['csv'] },
    ...(folder !== undefined && { defaultUri: Uri.joinPath(folder, `${name}.csv`) }),
  });
  if (file === undefined) {
    return;
  }
  try {
    await workspace.fs.writeFile(file, new TextEncoder().encode(text));
  } catch (error) {
    throw new C3Error('store', `${file.fsPath} cannot be written: ${messageOf(error)}; choose another file.`);
  }
}

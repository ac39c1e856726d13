/** Asks for a folder. */

import { Uri, window, workspace } from 'vscode';

/** Shows the dialog for a folder, which begins in the workspace. @returns undefined if the user canceled */
export async function askForFolder(title: string, openLabel = title): Promise<string | undefined> {
  const start = workspace.workspaceFolders?.[0]?.uri;
  const chosen = await window.showOpenDialog({
    canSelectFiles: false,
    canSelectFolders: true,
    canSelectMany: false,
    openLabel,
    title,
    ...(start === undefined ? {} : { defaultUri: Uri.file(start.fsPath) }),
  });
  return chosen?.[0]?.fsPath;
}

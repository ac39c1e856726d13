/** Asks for another model than that of the run, with which a replay is continued. */

import { toOneLine } from '../../shared/text/oneLine.ts';
import type { Services } from '../services.ts';
import { askForConfirmation } from '../webview/confirm.ts';

export type ModelFolders = Services['modelFolders'];

/** Asks for the folder of another model. Returns undefined if the user canceled. */
export async function chooseReplayModel(folders: ModelFolders): Promise<string | undefined> {
  // Loaded on demand, since few panels need it.
  const { askForModelFolder } = await import('../model/chooseModel.ts');
  return askForModelFolder(folders);
}

/**
 * Asks the user to confirm that a replay may load the model of a folder. The path comes from the page,
 * which may name any folder.
 * @returns true if the user confirmed it
 */
export async function confirmReplayModel(folder: string, folders: ModelFolders): Promise<boolean> {
  const yes = await askForConfirmation(
    `Load the model in ${toOneLine(folder, 300)} and continue this replay with it?`,
    'Load model',
  );
  if (yes) {
    await folders.choose(folder);
  }
  return yes;
}

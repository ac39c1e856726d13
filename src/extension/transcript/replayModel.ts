/** The model that a replay is continued with, where it is another one than the run's. */
import { oneLine } from '../../shared/text/oneLine.ts';
import type { Services } from '../services.ts';
import { confirmed } from '../webview/confirm.ts';

export type ModelFolders = Services['modelFolders'];

/** Asks the user for the folder of another model; undefined where the question was left. */
export async function chooseReplayModel(folders: ModelFolders): Promise<string | undefined> {
  // Loaded when first asked: hardly any panel does.
  const { askForModelFolder } = await import('../model/chooseModel.ts');
  return askForModelFolder(folders);
}

/**
 * Whether a replay may load the model of a folder: one that the user chose, or confirms now. A form may hold a path
 * from before a reload; a page may name any.
 */
export async function confirmReplayModel(folder: string, folders: ModelFolders): Promise<boolean> {
  const yes = await confirmed(
    `Load the model in ${oneLine(folder, 300)} and continue this replay with it?`,
    'Load model',
  );
  if (yes) {
    await folders.choose(folder);
  }
  return yes;
}

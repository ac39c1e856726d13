/** Asks for a model folder: a remembered one or any other. */

import { basename, dirname } from 'node:path';
import { QuickPickItemKind, ThemeIcon, window, type QuickPick, type QuickPickItem } from 'vscode';
import { askForFolder } from '../common/askForFolder.ts';
import { Disposables } from '../common/disposables.ts';
import { withoutIcons } from '../common/plainText.ts';
import { isExistingFolder, type ModelFolders } from './modelFolders.ts';

const TITLE = 'Choose model folder';
const PLACEHOLDER = 'A folder in the Hugging Face layout: config.json, safetensors, tokenizer.json';
const REMOVE = { iconPath: new ThemeIcon('close'), tooltip: 'Remove from this list' };

interface FolderItem extends QuickPickItem {
  /** Absolute path; null for "Browse…". */
  readonly path: string | null;
}

/** Returns the absolute path of an existing folder, or undefined if the user canceled. */
export async function askForModelFolder(folders: ModelFolders): Promise<string | undefined> {
  const picked = folders.list().length === 0 ? null : await pickRemembered(folders);
  const chosen = picked === null ? await askForFolder(TITLE) : picked;
  if (chosen !== undefined) {
    await folders.choose(chosen);
  }
  return chosen;
}

/** Lets the user pick a remembered folder. @returns null if the user wants to browse */
function pickRemembered(folders: ModelFolders): Promise<string | null | undefined> {
  const pick = window.createQuickPick<FolderItem>();
  const disposables = new Disposables();
  disposables.add(pick);
  pick.title = TITLE;
  pick.placeholder = PLACEHOLDER;
  pick.matchOnDescription = true;
  const draw = (): void => {
    pick.items = createFolderItems(folders);
  };
  draw();
  return new Promise((resolve) => {
    disposables.add(
      pick.onDidTriggerItemButton(({ item }) => {
        if (item.path !== null) {
          void folders.forget(item.path).then(draw);
        }
      }),
    );
    disposables.add(
      pick.onDidAccept(() => {
        const answer = acceptPickedFolder(pick, draw);
        if (answer === undefined) {
          return;
        }
        resolve(answer);
        pick.hide();
      }),
    );
    disposables.add(
      pick.onDidHide(() => {
        resolve(undefined);
        disposables.dispose();
      }),
    );
    pick.show();
  });
}

/** Returns the path of the accepted item. If it is missing, says so in the list and returns undefined. */
function acceptPickedFolder(pick: QuickPick<FolderItem>, draw: () => void): string | null | undefined {
  const [item] = pick.selectedItems;
  if (item === undefined || item.path === null || isExistingFolder(item.path)) {
    return item?.path;
  }
  draw();
  pick.placeholder = `${basename(item.path)} is missing: put it back, remove it from this list, or choose another.`;
  return undefined;
}

function createFolderItems(folders: ModelFolders): FolderItem[] {
  return [
    ...folders
      .list()
      .map(({ path, missing }) => ({
        label: withoutIcons(basename(path)),
        iconPath: new ThemeIcon(missing ? 'warning' : 'folder'),
        description: `${missing ? 'missing: ' : ''}${withoutIcons(dirname(path))}`,
        buttons: [REMOVE],
        path,
      })),
    { label: '', kind: QuickPickItemKind.Separator, path: null },
    { label: 'Browse…', iconPath: new ThemeIcon('folder-opened'), alwaysShow: true, path: null },
  ];
}

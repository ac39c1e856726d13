/** Remembers the model folders of a workspace, the last used one first. */

import { statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import type { ListKeeper } from '../common/listKeeper.ts';

export interface RememberedFolder {
  /** Absolute path. */
  readonly path: string;
  /** True if the folder does not exist now. */
  readonly missing: boolean;
}

const KEY = 'c3.modelFolders';
/** The key for folders that the user chose in a dialog of the editor, whatever they hold. */
const CHOSEN_KEY = 'c3.chosenModelFolders';
const MOST = 20;

export class ModelFolders {
  private readonly keeper: ListKeeper;

  constructor(keeper: ListKeeper) {
    this.keeper = keeper;
  }

  /** Returns at most 20 folders. Missing ones stay in the list, since a disk may be connected again. */
  list(): readonly RememberedFolder[] {
    return this.paths().map((path) => ({ path, missing: !isExistingFolder(path) }));
  }

  /** Puts a folder first in the list. */
  async remember(path: string): Promise<void> {
    const paths = this.paths();
    if (paths[0] !== path) {
      await this.keeper.update(KEY, [path, ...paths.filter((other) => other !== path)].slice(0, MOST));
    }
  }

  async forget(path: string): Promise<void> {
    await this.keeper.update(
      KEY,
      this.paths().filter((other) => other !== path),
    );
  }

  /** Records that the user chose a folder in a dialog of the editor. */
  async choose(path: string): Promise<void> {
    const chosen = this.kept(CHOSEN_KEY);
    if (chosen[0] !== path) {
      await this.keeper.update(CHOSEN_KEY, [path, ...chosen.filter((other) => other !== path)].slice(0, MOST));
    }
  }

  /** Returns true if the user chose the folder in the editor. The state of a page may name any folder. */
  wasChosen(path: string): boolean {
    return this.kept(CHOSEN_KEY).includes(path) || this.paths().includes(path);
  }

  private paths(): readonly string[] {
    return this.kept(KEY);
  }

  /** Returns stored absolute paths. Other values, as from another version of C3, are left out. */
  private kept(key: string): readonly string[] {
    const kept = this.keeper.get(key);
    return Array.isArray(kept)
      ? kept.filter((path): path is string => typeof path === 'string' && isAbsolute(path)).slice(0, MOST)
      : [];
  }
}

export function isExistingFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

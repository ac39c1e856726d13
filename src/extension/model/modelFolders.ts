/** The model folders that a workspace has used, the last one first. */
import { statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import type { ListKeeper } from '../common/listKeeper.ts';

export interface RememberedFolder {
  /** Absolute. */
  readonly path: string;
  /** True where no such folder is there now. */
  readonly missing: boolean;
}

const KEY = 'c3.modelFolders';
/** Those that were chosen in a dialog of the editor, whatever they hold. */
const CHOSEN_KEY = 'c3.chosenModelFolders';
const MOST = 20;

export class ModelFolders {
  private readonly keeper: ListKeeper;

  constructor(keeper: ListKeeper) {
    this.keeper = keeper;
  }

  /** At most 20 folders; those that vanished stay in the list, for a disk may come back. */
  list(): readonly RememberedFolder[] {
    return this.paths().map((path) => ({ path, missing: !isFolder(path) }));
  }

  /** Puts a folder first. */
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

  /** Notes that the user chose a folder in the editor itself. */
  async choose(path: string): Promise<void> {
    const chosen = this.kept(CHOSEN_KEY);
    if (chosen[0] !== path) {
      await this.keeper.update(CHOSEN_KEY, [path, ...chosen.filter((other) => other !== path)].slice(0, MOST));
    }
  }

  /** Whether the user chose a folder in the editor itself; a page may name any. */
  wasChosen(path: string): boolean {
    return this.kept(CHOSEN_KEY).includes(path) || this.paths().includes(path);
  }

  private paths(): readonly string[] {
    return this.kept(KEY);
  }

  /** What was kept may come from another version: anything but absolute paths is left out. */
  private kept(key: string): readonly string[] {
    const kept = this.keeper.get(key);
    return Array.isArray(kept)
      ? kept.filter((path): path is string => typeof path === 'string' && isAbsolute(path)).slice(0, MOST)
      : [];
  }
}

export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

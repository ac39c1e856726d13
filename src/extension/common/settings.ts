/** The user's settings, checked. */
import { isAbsolute, join } from 'node:path';
import { workspace } from 'vscode';
import { MAX_ALTERNATIVES, MAX_REPLAYS } from '../../shared/protocols/transcriptProtocol.ts';

const SECTION = 'c3';

/** Absolute path of the workspace's store; null when no folder is open. */
export function storePath(): string | null {
  const folder = workspace.workspaceFolders?.[0];
  if (folder === undefined || folder.uri.scheme !== 'file') {
    return null;
  }
  const path = workspace.getConfiguration(SECTION, folder).get<string>('store.path', '').trim();
  if (path === '') {
    return join(folder.uri.fsPath, '.c3', 'c3.sqlite');
  }
  return isAbsolute(path) ? path : join(folder.uri.fsPath, path);
}

/** What the replay fields start with. */
export function replayDefaults(): { readonly alternatives: number; readonly replays: number } {
  const settings = workspace.getConfiguration(SECTION);
  return {
    alternatives: bounded(settings.get<number>('replay.alternatives', 4), MAX_ALTERNATIVES),
    replays: bounded(settings.get<number>('replay.replays', 4), MAX_REPLAYS),
  };
}

/** The section of our settings. */
export const SETTINGS = SECTION;

function bounded(value: number, high: number): number {
  return Number.isFinite(value) ? Math.min(high, Math.max(1, Math.round(value))) : 1;
}

/** Reads the user's settings and checks their values. */

import { isAbsolute, join } from 'node:path';
import { workspace } from 'vscode';
import type { SpendingChoice } from '../../shared/endpointCost.ts';
import { MAX_ALTERNATIVES, MAX_REPLAYS } from '../../shared/protocols/transcriptProtocol.ts';

const SECTION = 'c3';

/** Returns the absolute path of the workspace's store, or null if no folder is open. */
export function findStorePath(): string | null {
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

/** Returns the initial values of the replay fields. */
export function readReplayDefaults(): { readonly alternatives: number; readonly replays: number } {
  const settings = workspace.getConfiguration(SECTION);
  return {
    alternatives: clampCount(settings.get<number>('replay.alternatives', 4), MAX_ALTERNATIVES),
    replays: clampCount(settings.get<number>('replay.replays', 4), MAX_REPLAYS),
  };
}

/** Returns the spending limit for servers in the settings, which overrides that of configurations. */
export function readSpendingLimit(): { readonly spending?: SpendingChoice } {
  const settings = workspace.getConfiguration(SECTION);
  const of = (name: string): number | null => {
    const value = settings.get<number | null>(name, null);
    return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
  };
  const [tokens, money] = [of('spending.tokens'), of('spending.money')];
  return tokens === null && money === null
    ? {}
    : { spending: { ...(tokens !== null && { tokens }), ...(money !== null && { money }) } };
}

/** The section of the extension's settings. */
export const SETTINGS = SECTION;

function clampCount(value: number, high: number): number {
  return Number.isFinite(value) ? Math.min(high, Math.max(1, Math.round(value))) : 1;
}

/** A log that is imported from its text. */

import type { LogImport } from '../../../../src/domain/episode.ts';
import { storeLog, surveyLog } from '../../../../src/engine/exchange/importLog.ts';
import { LogIndex } from '../../../../src/engine/exchange/logIndex.ts';
import type { Rename } from '../../../../src/shared/speakerNames.ts';
import type { StoreWriter } from '../../../../src/store/write/writer.ts';
import { sourceOf } from '../../logs/wholeLog.ts';

/** When it is imported. */
export const NOW = '2026-01-01T00:00:00.000Z';

export async function importText(
  store: StoreWriter,
  text: string | Buffer,
  maskSecrets = false,
  renames: readonly Rename[] = [],
  kept?: number,
): Promise<LogImport> {
  const path = '/logs/mine.json';
  const index = new LogIndex(path);
  try {
    const open = { source: sourceOf(text, path), leftOut: [], index };
    const { signal } = new AbortController();
    return storeLog(store, await surveyLog(open, { path, maskSecrets, renames }, signal, kept), NOW);
  } finally {
    index.close();
  }
}

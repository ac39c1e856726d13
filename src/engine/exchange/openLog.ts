/** The file of a log as JSON that is read where it is needed, whatever it is kept in. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LeftOutCounts } from '../../logs/episode.ts';
import { isProtobuf } from '../../logs/otlpProtobuf.ts';
import type { LogSource } from '../../logs/source.ts';
import { checkpointsAsJson } from './checkpoints.ts';
import { LogFile } from './logFile.ts';
import { tracesAsJson } from './protobufLog.ts';
import { isZip, samplesAsJson } from './zippedLog.ts';

export interface OpenLog {
  readonly source: LogSource;
  readonly leftOut: LeftOutCounts;
  /** Closes the file, and removes what was made of it. */
  readonly close: () => void;
}

const SQLITE = Buffer.from('SQLite format 3\0', 'latin1');

/**
 * Opens a log. Databases and archives are unpacked into a temporary folder of the user alone until
 * it is closed.
 * @throws C3Error('input') for what cannot be read; CancelledError
 */
export async function openLog(path: string, signal: AbortSignal): Promise<OpenLog> {
  const file = new LogFile(path);
  const head = Buffer.from(file.read(0, Math.min(file.size, SQLITE.length)));
  const unpack = head.equals(SQLITE)
    ? checkpointsAsJson
    : isZip(head)
      ? samplesAsJson
      : isProtobuf(head)
        ? tracesAsJson
        : null;
  if (unpack === null) {
    return {
      source: file,
      leftOut: [],
      close: () => {
        file.close();
      },
    };
  }
  file.close();
  const folder = mkdtempSync(join(tmpdir(), 'c3-import-'));
  const remove = (): void => {
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const made = join(folder, 'log.jsonl');
    const leftOut = await unpack(path, made, signal);
    const unpacked = new LogFile(made, path);
    return {
      source: unpacked,
      leftOut,
      close: () => {
        unpacked.close();
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

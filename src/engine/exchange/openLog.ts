/** The file of a log as JSON that is read where it is needed, whatever it is kept in. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../../files/temporaryFolder.ts';
import type { LeftOutCounts } from '../../logs/episode.ts';
import { isProtobuf } from '../../logs/otlpProtobuf.ts';
import type { LogSource } from '../../logs/source.ts';
import { checkpointsAsJson } from './checkpoints.ts';
import { decompressed, isCompressed } from './compressedLog.ts';
import { isUtf16, utf16AsUtf8 } from './encodedLog.ts';
import { LogFile } from './logFile.ts';
import { framesAsJson, isFramed, requestAsJson } from './protobufLog.ts';
import { isZip, samplesAsJson } from './zippedLog.ts';

export interface OpenLog {
  readonly source: LogSource;
  readonly leftOut: LeftOutCounts;
  /** Closes the file, and removes what was made of it. */
  readonly close: () => void;
}

const SQLITE = Buffer.from('SQLite format 3\0', 'latin1');
/** A log may be compressed, and what it holds be kept in something again. */
const MOST_LAYERS = 2;

type Unpack = (path: string, out: string, signal: AbortSignal, head: Buffer) => Promise<LeftOutCounts>;

/** What reads a file that is no JSON, by its first bytes; null for one that is. */
function unpackerOf(head: Buffer): Unpack | null {
  if (isCompressed(head)) {
    return decompressed;
  }
  if (isUtf16(head)) {
    return utf16AsUtf8;
  }
  if (head.equals(SQLITE)) {
    return checkpointsAsJson;
  }
  if (isZip(head)) {
    return (path, out, signal) => samplesAsJson(path, out, signal);
  }
  return isFramed(head) ? framesAsJson : isProtobuf(head) ? (path, out) => requestAsJson(path, out) : null;
}

const headOf = (file: LogFile): Buffer => Buffer.from(file.read(0, Math.min(file.size, SQLITE.length)));

/**
 * Opens a log. What is compressed or in UTF-16, databases, archives and protocol buffers are unpacked into a temporary
 * folder of the user alone until it is closed.
 * @throws C3Error('input') for what cannot be read; CancelledError
 */
export async function openLog(path: string, signal: AbortSignal): Promise<OpenLog> {
  let file = new LogFile(path);
  let folder: string | null = null;
  const leftOut: (readonly [string, number])[] = [];
  const close = (): void => {
    file.close();
    if (folder !== null) {
      rmSync(folder, { recursive: true, force: true });
    }
  };
  try {
    let from = path;
    for (let layer = 0; layer < MOST_LAYERS; layer++) {
      const head = headOf(file);
      const unpack = unpackerOf(head);
      if (unpack === null) {
        break;
      }
      folder ??= temporaryFolder('import');
      const made = join(folder, `log${layer}`);
      leftOut.push(...(await unpack(from, made, signal, head)));
      const unpacked = new LogFile(made, path);
      file.close();
      [file, from] = [unpacked, made];
    }
    return { source: file, leftOut, close };
  } catch (error) {
    close();
    throw error;
  }
}

/** Opens the file of a log as JSON that is read in pieces, whatever format the file has. */

import { fork } from 'node:child_process';
import { rmSync, createReadStream } from 'node:fs';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { engineEnvironment } from '../../client/environment.ts';
import { createTemporaryFolder } from '../../files/temporaryFolder.ts';
import type { LeftOutCounts } from '../../logs/episode.ts';
import { isProtobuf } from '../../logs/otlpProtobuf.ts';
import type { LogSource } from '../../logs/source.ts';
import { C3Error, CancelledError, toErrorMessage } from '../../shared/errors.ts';
import { isRecord } from '../../shared/guard.ts';
import { CHECKPOINTS_ENTRY } from '../places.ts';
import { decompressLog, isCompressed, MAX_UNPACKED_BYTES, createTooLargeError } from './compressedLog.ts';
import { LogFile } from './logFile.ts';
import { convertFramedMessages, isFramed, convertRequest } from './protobufLog.ts';
import { UnpackedFile } from './unpackedFile.ts';
import { isZip, convertSamples } from './zippedLog.ts';

export interface OpenLog {
  readonly source: LogSource;
  readonly leftOut: LeftOutCounts;
  /** Closes the file, and removes the files that were made of it. */
  readonly close: () => void;
}

const SQLITE = Buffer.from('SQLite format 3\0', 'latin1');
/** Maximum number of unpacking steps: a compressed log may contain another packed format. */
const MAX_LAYERS = 2;

type Unpack = (path: string, out: string, signal: AbortSignal, head: Buffer) => Promise<LeftOutCounts>;

/** Returns the function that unpacks a file, by its first bytes; null for JSON. */
function findUnpacker(head: Buffer): Unpack | null {
  if (isCompressed(head)) {
    return decompressLog;
  }
  if (isUtf16(head)) {
    return convertUtf16;
  }
  if (head.equals(SQLITE)) {
    return convertCheckpoints;
  }
  if (isZip(head)) {
    return (path, out, signal) => convertSamples(path, out, signal);
  }
  return isFramed(head) ? convertFramedMessages : isProtobuf(head) ? (path, out) => convertRequest(path, out) : null;
}

const readHead = (file: LogFile): Buffer => Buffer.from(file.read(0, Math.min(file.size, SQLITE.length)));

/**
 * Opens a log. Compressed files, UTF-16, databases, archives and protocol buffers are unpacked into a
 * temporary folder that only the user can read, until the log is closed.
 * @throws C3Error('input') for a file that cannot be read; CancelledError
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
    for (let layer = 0; layer < MAX_LAYERS; layer++) {
      const head = readHead(file);
      const unpack = findUnpacker(head);
      if (unpack === null) {
        break;
      }
      folder ??= createTemporaryFolder('import');
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

// LangGraph checkpoints are read in a separate process, because a damaged database can make the
// reading endless or crash it.

const SECOND = 1000;
const READER_MILLISECONDS = 600 * SECOND;
/** Megabytes. A checkpoint has at most 64 MB. */
const HEAP_FLAG = '--max-old-space-size=1024';

/**
 * Writes a line of JSON for each thread into a new file.
 * @returns the counts of what was left out, by reason
 * @throws C3Error('input') for a file that LangGraph's saver did not write, is damaged, or takes too
 *   long; CancelledError
 */
function convertCheckpoints(path: string, out: string, signal: AbortSignal): Promise<LeftOutCounts> {
  return new Promise((resolve, reject) => {
    const fail = (why: string): void =>
      reject(new C3Error('input', `Cannot read ${path} as a database of LangGraph checkpoints: ${why}.`));
    const child = fork(CHECKPOINTS_ENTRY, [path, out], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      execArgv: [HEAP_FLAG],
      env: engineEnvironment(process.env),
      timeout: READER_MILLISECONDS,
      killSignal: 'SIGKILL',
    });
    const cancel = (): void => {
      child.kill('SIGKILL');
      reject(new CancelledError());
    };
    signal.addEventListener('abort', cancel, { once: true });
    child.on('message', (said) => {
      if (isRecord(said) && isRecord(said['leftOut'])) {
        resolve(Object.entries(said['leftOut']).map(([reason, count]) => [reason, Number(count)] as const));
      } else {
        fail(isRecord(said) ? String(said['error']).replace(/\.$/u, '') : 'it gave no answer');
      }
      child.disconnect();
    });
    child.on('error', (error) => fail(`its reader did not start: ${error.message}`));
    child.on('exit', (code, name) => {
      signal.removeEventListener('abort', cancel);
      fail(
        name === 'SIGKILL'
          ? `its reader did not end within ${READER_MILLISECONDS / SECOND} seconds: damage can keep it from ending`
          : `its reader ended with ${name ?? `code ${String(code)}`}`,
      );
    });
    if (signal.aborted) {
      cancel();
    }
  });
}

// Logs in UTF-16, as Windows writes them, begin with a byte order mark. They are converted to UTF-8.

const LITTLE_ENDIAN = Buffer.from([0xff, 0xfe]);
const BIG_ENDIAN = Buffer.from([0xfe, 0xff]);

const beginsWithMark = (head: Buffer, mark: Buffer): boolean => head.subarray(0, mark.length).equals(mark);

/** Returns true for a mark of UTF-16. The mark of UTF-8 is skipped when entries are looked for. */
const isUtf16 = (head: Buffer): boolean => beginsWithMark(head, LITTLE_ENDIAN) || beginsWithMark(head, BIG_ENDIAN);

/**
 * Converts a log from UTF-16 to UTF-8, without its byte order mark, in a new file. An unpaired
 * surrogate becomes U+FFFD.
 * @param head the first bytes of the log
 * @param most maximum bytes of the new file
 * @throws C3Error('input') if the log cannot be read, or the new file becomes too large;
 *   CancelledError
 */
export async function convertUtf16(
  path: string,
  out: string,
  signal: AbortSignal,
  head: Buffer,
  most = MAX_UNPACKED_BYTES,
): Promise<LeftOutCounts> {
  const target = new UnpackedFile(out, most, () => createTooLargeError(`The content of ${path} is`, most));
  try {
    await pipeline(createReadStream(path), createUtf16Decoder(beginsWithMark(head, BIG_ENDIAN)), target.writable(), {
      signal,
    });
    return [];
  } catch (error) {
    if (signal.aborted) {
      throw new CancelledError();
    }
    throw error instanceof C3Error
      ? error
      : new C3Error('input', `Cannot read ${path} as UTF-16: ${toErrorMessage(error)}; save it as UTF-8.`, {
          cause: error,
        });
  } finally {
    target.close();
  }
}

/** Decodes pieces that may end within a character. */
function createUtf16Decoder(isSwapped: boolean): Transform {
  const decoder = new TextDecoder('utf-16le');
  // Not every Node can decode big-endian UTF-16.
  let half = Buffer.alloc(0);
  return new Transform({
    transform(bytes: Buffer, _, done) {
      const all = Buffer.concat([half, bytes]);
      const even = Buffer.from(all.subarray(0, all.length - (all.length % 2)));
      half = Buffer.from(all.subarray(even.length));
      done(null, Buffer.from(decoder.decode(isSwapped ? even.swap16() : even, { stream: true })));
    },
    flush(done) {
      done(null, Buffer.from(decoder.decode(half)));
    },
  });
}

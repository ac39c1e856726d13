/**
 * Files of traces as protocol buffers: one request of an OTLP exporter, or what the file exporter of OpenTelemetry's
 * Collector writes with `format: proto` or a compression, one message after another, each behind its length.
 */
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { PRIVATE_FILE } from '../../files/newFile.ts';
import type { LeftOutCounts } from '../../logs/episode.ts';
import { tracesInProtobuf } from '../../logs/otlpProtobuf.ts';
import { C3Error, CancelledError, messageOf } from '../../shared/errors.ts';
import { bytesWords } from '../../shared/text/sizes.ts';
import { isZstandard, MOST_UNPACKED, tooMuch, zstandardOf } from './compressedLog.ts';
import { LogFile } from './logFile.ts';

/** As the longest entry of other logs: a message is read as a whole. */
const MOST_BYTES = 2 ** 26;
/** Bytes of a length, the highest first. */
const LENGTH = 4;
const OPEN_OBJECT = 0x7b;

/** Whether bytes begin with the length of a message that is read, as no text does. */
export const isFramed = (head: Buffer): boolean => head.length > LENGTH && head.readUInt32BE() <= MOST_BYTES;

/** Writes the traces as JSON into a new file. @throws C3Error('input') for what is none, or is longer than 64 MB */
export function tracesAsJson(path: string, out: string): Promise<LeftOutCounts> {
  return asJson(path, out, ({ file, write }) => {
    if (file.size > MOST_BYTES) {
      throw new C3Error(
        'input',
        `${path} has more than ${bytesWords(MOST_BYTES)}; export traces as JSON, which is read in pieces, or in smaller files.`,
      );
    }
    write(JSON.stringify(tracesInProtobuf(Buffer.from(file.read(0, file.size)), path)));
    return Promise.resolve();
  });
}

/**
 * Writes each message as a line of JSON into a new file. A message is JSON or a protocol buffer, by itself or in
 * Zstandard.
 * @param most bytes that the messages may come to
 * @throws C3Error('input') for a message that is cut, damaged or longer than 64 MB; CancelledError
 */
export function framesAsJson(
  path: string,
  out: string,
  signal: AbortSignal,
  _head?: Buffer,
  most = MOST_UNPACKED,
): Promise<LeftOutCounts> {
  return asJson(path, out, async ({ file, write }) => {
    let written = 0;
    for (let [at, number] = [0, 1]; at < file.size; number++) {
      const place = `message ${String(number)} of ${path}`;
      const length = at + LENGTH > file.size ? Number.NaN : file.read(at, at + LENGTH).readUInt32BE();
      const end = at + LENGTH + length;
      if (!(length <= MOST_BYTES && end <= file.size)) {
        throw new C3Error(
          'input',
          `Byte ${String(at)} of ${path} begins no message that ends within it and has at most ${bytesWords(MOST_BYTES)}; give a whole file of the Collector's file exporter.`,
        );
      }
      const text = messageText(Buffer.from(file.read(at + LENGTH, end)), place);
      written += write(text);
      if (written > most) {
        throw tooMuch(`The messages of ${path} together are`, most);
      }
      at = end;
      await setImmediate();
      if (signal.aborted) {
        throw new CancelledError();
      }
    }
  });
}

function messageText(message: Buffer, place: string): string {
  const bytes = isZstandard(message) ? unpacked(message, place) : message;
  return bytes[0] === OPEN_OBJECT ? bytes.toString('utf8') : JSON.stringify(tracesInProtobuf(bytes, place));
}

function unpacked(message: Buffer, place: string): Buffer {
  try {
    return zstandardOf(message, MOST_BYTES);
  } catch (error) {
    throw new C3Error(
      'input',
      `Cannot decompress ${place} to at most ${bytesWords(MOST_BYTES)}: ${messageOf(error)}; give a whole file of the Collector's file exporter.`,
      { cause: error },
    );
  }
}

interface Files {
  readonly file: LogFile;
  /** Writes a line. @returns its bytes */
  readonly write: (text: string) => number;
}

async function asJson(path: string, out: string, work: (files: Files) => Promise<void>): Promise<LeftOutCounts> {
  const file = new LogFile(path);
  try {
    const target = openSync(out, 'wx', PRIVATE_FILE);
    try {
      const write = (text: string): number => {
        const line = Buffer.from(`${text}\n`);
        writeFileSync(target, line);
        return line.length;
      };
      await work({ file, write });
      return [];
    } finally {
      closeSync(target);
    }
  } finally {
    file.close();
  }
}

/**
 * Reads traces and logs in protocol buffers: one request of an OTLP exporter, or a file of the
 * OpenTelemetry Collector's file exporter with `format: proto` or a compression, in which each message
 * follows its length. Damaged messages are left out and named by their number.
 */

import { setImmediate } from 'node:timers/promises';
import type { LeftOutCounts } from '../../logs/episode.ts';
import { readProtobufRequest, type ReadRequest } from '../../logs/otlpProtobuf.ts';
import { C3Error, CancelledError, toErrorMessage } from '../../shared/errors.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';
import { formatBytes } from '../../shared/text/sizes.ts';
import { isZstandard, MAX_UNPACKED_BYTES, createTooLargeError, decompressZstandard } from './compressedLog.ts';
import { LogFile } from './logFile.ts';
import { Losses } from './losses.ts';
import { UnpackedFile } from './unpackedFile.ts';

/** Maximum bytes of a message, which is read as a whole; equal to the longest entry of other logs. */
const MOST_BYTES = 2 ** 26;
/** Bytes of a length, big-endian. */
const LENGTH_BYTES = 4;
const OPEN_OBJECT = 0x7b;
/** Maximum characters of a reason. */
const MOST_WORDS = 100;
const FURTHER_LOSSES = 'further spans, log records and messages that are damaged';

/** Returns true if bytes begin with the length of a message; no text begins like this. */
export const isFramed = (head: Buffer): boolean => head.length > LENGTH_BYTES && head.readUInt32BE() <= MOST_BYTES;

/**
 * Writes a request as JSON into a new file.
 * @returns the counts of what was left out, by reason
 * @throws C3Error('input') for a file that is not a request, or is longer than 64 MB
 */
export function convertRequest(path: string, out: string, most = MAX_UNPACKED_BYTES): Promise<LeftOutCounts> {
  return convertToJson(path, out, most, ({ file, write }) => {
    if (file.size > MOST_BYTES) {
      throw new C3Error(
        'input',
        `${path} has more than ${formatBytes(MOST_BYTES)}; export traces as JSON, which is read in pieces, or in smaller files.`,
      );
    }
    const { request, isRead, damaged, others } = readProtobufRequest(Buffer.from(file.read(0, file.size)));
    if (!isRead) {
      throw new C3Error(
        'input',
        `${path} is not an OpenTelemetry request in protocol buffers: ${damaged[0] ?? 'it is damaged'}; give a whole one, or OTLP in JSON.`,
      );
    }
    const losses = new Losses(FURTHER_LOSSES);
    damaged.forEach((one) => losses.add(one));
    losses.addOthers(others);
    write(JSON.stringify(request));
    return Promise.resolve(losses.counts);
  });
}

/**
 * Writes each message as a line of JSON into a new file. A message is JSON or a protocol buffer,
 * uncompressed or compressed with Zstandard.
 * @param most maximum bytes of all messages together
 * @returns the counts of what was left out, by reason
 * @throws C3Error('input') if no message of the file can be read; CancelledError
 */
export function convertFramedMessages(
  path: string,
  out: string,
  signal: AbortSignal,
  _head?: Buffer,
  most = MAX_UNPACKED_BYTES,
): Promise<LeftOutCounts> {
  return convertToJson(path, out, most, async ({ file, write }) => {
    const losses = new Losses(FURTHER_LOSSES);
    let first: C3Error | null = null;
    let read = 0;
    for (let [at, number] = [0, 1]; at < file.size; number++) {
      const place = `message ${number}`;
      const length = at + LENGTH_BYTES > file.size ? Number.NaN : file.read(at, at + LENGTH_BYTES).readUInt32BE();
      const end = at + LENGTH_BYTES + length;
      if (!(length <= MOST_BYTES && end <= file.size)) {
        first ??= new C3Error(
          'input',
          `No complete message of at most ${formatBytes(MOST_BYTES)} begins at byte ${at} of ${path}; give a whole file of the Collector's file exporter.`,
        );
        // The place of the next message is unknown.
        losses.add(`rest of the file from ${place} on, whose end is missing`);
        break;
      }
      try {
        write(convertMessage(Buffer.from(file.read(at + LENGTH_BYTES, end)), place, path, losses));
        read++;
      } catch (error) {
        if (!(error instanceof DamagedMessage)) {
          throw error;
        }
        first ??= error.refusal;
        losses.add(`${place}, which cannot be read: ${toOneLine(toErrorMessage(error), MOST_WORDS)}`);
      }
      at = end;
      await setImmediate();
      if (signal.aborted) {
        throw new CancelledError();
      }
    }
    if (read === 0 && first !== null) {
      throw first;
    }
    return losses.counts;
  });
}

/** The reason why a message is left out. */
class DamagedMessage extends Error {
  /** The error for a file in which no message can be read. */
  readonly refusal: C3Error;

  constructor(why: string, refusal: string, cause?: unknown) {
    super(why, { cause });
    this.refusal = new C3Error('input', `${refusal}; give a whole file of the Collector's file exporter.`, { cause });
  }
}

/**
 * @param losses gets the damaged parts of the message.
 * @throws DamagedMessage if nothing of it can be read
 */
function convertMessage(message: Buffer, place: string, path: string, losses: Losses): string {
  const bytes = isZstandard(message) ? unpackMessage(message, `${place} of ${path}`) : message;
  if (bytes[0] === OPEN_OBJECT) {
    const text = bytes.toString('utf8');
    try {
      JSON.parse(text);
    } catch (error) {
      throw new DamagedMessage('it is not valid JSON', `${place} of ${path} is not valid JSON`, error);
    }
    return text;
  }
  const { request, isRead, damaged, others }: ReadRequest = readProtobufRequest(bytes);
  if (!isRead) {
    const why = damaged[0] ?? 'it is damaged';
    throw new DamagedMessage(why, `${place} of ${path} is not an OpenTelemetry protocol buffer: ${why}`);
  }
  for (const one of damaged) {
    losses.add(`${place}: ${one}`);
  }
  losses.addOthers(others);
  return JSON.stringify(request);
}

function unpackMessage(message: Buffer, place: string): Buffer {
  try {
    return decompressZstandard(message, MOST_BYTES);
  } catch (error) {
    const why = toErrorMessage(error);
    throw new DamagedMessage(why, `Cannot decompress ${place} to at most ${formatBytes(MOST_BYTES)}: ${why}`, error);
  }
}

interface Files {
  readonly file: LogFile;
  /** Writes a line. @throws C3Error('input') if all lines together become too large */
  readonly write: (text: string) => void;
}

async function convertToJson(
  path: string,
  out: string,
  most: number,
  work: (files: Files) => Promise<LeftOutCounts>,
): Promise<LeftOutCounts> {
  const file = new LogFile(path);
  try {
    const target = new UnpackedFile(out, most, () => createTooLargeError(`The messages of ${path} together are`, most));
    try {
      return await work({ file, write: (text) => target.put(Buffer.from(`${text}\n`)) });
    } finally {
      target.close();
    }
  } finally {
    file.close();
  }
}

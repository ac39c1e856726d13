/**
 * Reads logs that are compressed as a whole with gzip or Zstandard, in one part or several. The unpacked bytes are
 * bounded. The bytes before a damaged part are kept.
 */

import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import * as zlib from 'node:zlib';
import type { LeftOutCounts } from '../../logs/episode.ts';
import type { LogSource } from '../../logs/source.ts';
import { C3Error, CancelledError, toErrorMessage } from '../../shared/errors.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';
import { formatBytes } from '../../shared/text/sizes.ts';
import { LogFile } from './logFile.ts';
import { UnpackedFile } from './unpackedFile.ts';

/** Maximum bytes of an unpacked log: a few compressed bytes can unpack to any number. */
export const MAX_UNPACKED_BYTES = 2 ** 33;

/** Bytes of a step. A damaged step loses all its bytes, so it is tried again in smaller steps. */
const STEP_BYTES = [2 ** 16, 2 ** 6, 1] as const;
/** Maximum pieces that may be buffered between reading and unpacking. */
const MAX_WAITING_PIECES = 8;
/** Maximum characters of a reason. */
const MOST_WORDS = 100;

const GZIP = Buffer.from([0x1f, 0x8b]);
const ZSTANDARD = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

const isGzip = (head: Buffer): boolean => head.subarray(0, GZIP.length).equals(GZIP);
export const isZstandard = (head: Buffer): boolean => head.subarray(0, ZSTANDARD.length).equals(ZSTANDARD);
export const isCompressed = (head: Buffer): boolean => isGzip(head) || isZstandard(head) || isSkippedFrame(head);

/** @throws Error if this Node does not support Zstandard */
export function createZstandardStream(): Duplex {
  requireZstandard();
  return zlib.createZstdDecompress();
}

/**
 * Decompresses bytes to at most `most` bytes.
 * @throws Error if they are not Zstandard, or unpack to more
 */
export function decompressZstandard(bytes: Buffer, most: number): Buffer {
  requireZstandard();
  return zlib.zstdDecompressSync(bytes, { maxOutputLength: most });
}

function requireZstandard(): void {
  if (typeof zlib.createZstdDecompress !== 'function') {
    throw new Error('it is compressed with Zstandard, which needs Node 22.15 or newer');
  }
}

/**
 * Unpacks a compressed log into a new file. A damaged log is unpacked up to the last complete line
 * before the damage.
 * @param head the first bytes of the log
 * @param most maximum bytes of the unpacked log
 * @returns the counts of what was left out, by reason
 * @throws C3Error('input') if nothing can be unpacked, or the unpacked log is too large;
 *   CancelledError
 */
export async function decompressLog(
  path: string,
  out: string,
  signal: AbortSignal,
  head: Buffer,
  most = MAX_UNPACKED_BYTES,
): Promise<LeftOutCounts> {
  const file = new LogFile(path);
  try {
    const target = new UnpackedFile(out, most, () => createTooLargeError(`The content of ${path} is`, most));
    try {
      const damage = isGzip(head)
        ? await unpackPart(file, { start: 0, end: file.size }, () => zlib.createGunzip(), target, signal)
        : await unpackFrames(file, target, signal);
      if (damage === null) {
        return [];
      }
      if (target.length === 0) {
        throw damage;
      }
      target.cutToLines();
      const why = toOneLine(toErrorMessage(damage), MOST_WORDS);
      return [[`rest of the file after a place where its compression is damaged or cut (${why})`, 1]];
    } finally {
      target.close();
    }
  } catch (error) {
    if (signal.aborted) {
      throw new CancelledError();
    }
    throw error instanceof C3Error
      ? error
      : new C3Error('input', `Cannot decompress ${path}: ${toErrorMessage(error)}; give a whole file.`, {
          cause: error,
        });
  } finally {
    file.close();
  }
}

/**
 * Unpacks all frames, one after another, because Node's own stream ends with the first frame.
 * @returns the error of a damaged frame, or null
 */
async function unpackFrames(file: LogFile, target: UnpackedFile, signal: AbortSignal): Promise<Error | null> {
  for (const frame of listZstandardFrames(file)) {
    if (frame === null) {
      return new Error('the bytes that follow are not Zstandard');
    }
    const damage = await unpackPart(file, frame, createZstandardStream, target, signal);
    if (damage !== null) {
      return damage;
    }
  }
  return null;
}

/**
 * Unpacks a part. A damaged part is unpacked again, in smaller steps shortly before the damage.
 * @returns the error of a damaged part, or null
 * @throws errors of the file that it is unpacked into; CancelledError
 */
async function unpackPart(
  file: LogFile,
  part: Part,
  stream: () => Duplex,
  target: UnpackedFile,
  signal: AbortSignal,
): Promise<Error | null> {
  const before = target.length;
  const steps: { from: number; size: number }[] = [];
  let [damage, from]: [Error | null, number] = [null, part.start];
  for (const size of STEP_BYTES) {
    steps.push({ from, size });
    const pieces = new Pieces(file, part.end, steps);
    damage = await tryUnpacking(pieces, stream(), target, signal);
    // A part that is cut off already gave all bytes that it has.
    if (damage === null || readZlibCode(damage) === 'Z_BUF_ERROR' || size === STEP_BYTES.at(-1)) {
      break;
    }
    target.cutTo(before);
    from = Math.max(from, pieces.read - MAX_WAITING_PIECES * size);
  }
  return damage;
}

/** The bytes of a part, in pieces that become smaller from given offsets on. */
class Pieces implements Iterable<Buffer> {
  /** Offset in bytes up to which the part was read. */
  read: number;
  private readonly file: LogFile;
  private readonly end: number;
  private readonly steps: readonly { readonly from: number; readonly size: number }[];

  constructor(file: LogFile, end: number, steps: Pieces['steps']) {
    [this.file, this.end, this.steps] = [file, end, steps];
    this.read = steps[0]?.from ?? end;
  }

  *[Symbol.iterator](): Generator<Buffer> {
    for (const [index, { size }] of this.steps.entries()) {
      const until = this.steps[index + 1]?.from ?? this.end;
      while (this.read < until) {
        const next = Math.min(until, this.read + size);
        // The file's buffer is valid only until the next read.
        const piece = Buffer.from(this.file.read(this.read, next));
        this.read = next;
        yield piece;
      }
    }
  }
}

const readZlibCode = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');

/** @returns the error of damaged bytes, or null */
async function tryUnpacking(
  pieces: Pieces,
  stream: Duplex,
  target: UnpackedFile,
  signal: AbortSignal,
): Promise<Error | null> {
  try {
    await pipeline(pieces, stream, target.writable(), { signal });
    return null;
  } catch (error) {
    if (signal.aborted) {
      throw new CancelledError();
    }
    // Errors of unpacking have an error code of zlib; all others come from reading or writing.
    if (error instanceof Error && /^(?:Z_|ZSTD_)/u.test(readZlibCode(error))) {
      return error;
    }
    throw error;
  }
}

/** @param what beginning of the sentence, with its verb */
export const createTooLargeError = (what: string, most: number): C3Error =>
  new C3Error('input', `${what} more than ${formatBytes(most)}; split the log.`);

// Frames of a Zstandard file (RFC 8878); a file is a sequence of frames.

/** Bytes of a file, from `start` up to but not including `end`. */
interface Part {
  readonly start: number;
  readonly end: number;
}

const MAGIC = 0xfd2fb528;
const SKIPPED = 0x184d2a50;
/** Bytes of a magic number, a length or a checksum, and bytes of a block's header. */
const [WORD, BLOCK_HEADER] = [4, 3] as const;
/** Bytes of a frame's content size and of its dictionary ID, by the flags of its descriptor. */
const CONTENT_SIZES = [0, 2, 4, 8] as const;
const DICTIONARIES = [0, 1, 2, 4] as const;
const [SINGLE_SEGMENT, CHECKSUM, ONE_BYTE_REPEATED] = [0x20, 0x04, 1] as const;

/** Returns true if bytes begin with a skippable frame, as parallel compressors write it. */
const isSkippedFrame = (head: Buffer): boolean => head.length >= WORD && isSkipped(head.readUIntLE(0, WORD));

const isSkipped = (magic: number): boolean => (magic & ~0xf) >>> 0 === SKIPPED;

/**
 * Finds the frames of a file, without skippable frames. The last frame may be cut off by the end of
 * the file.
 * @returns the frames; null, as the last item, for bytes that do not begin a frame
 */
function* listZstandardFrames(file: LogSource): Generator<Part | null> {
  for (let start = 0; start < file.size;) {
    const magic = readNumberAt(file, start, WORD);
    if (isSkipped(magic)) {
      start += 2 * WORD + readNumberAt(file, start + WORD, WORD);
      continue;
    }
    if (magic !== MAGIC) {
      yield null;
      return;
    }
    const end = findFrameEnd(file, start + WORD);
    yield { start, end };
    start = end;
  }
}

/** @param at offset of the frame's descriptor */
function findFrameEnd(file: LogSource, at: number): number {
  const descriptor = readNumberAt(file, at, 1);
  const isSingle = (descriptor & SINGLE_SEGMENT) !== 0;
  // A single segment has its content's size in at least one byte, and no window size.
  const content = CONTENT_SIZES[descriptor >>> 6] || (isSingle ? 1 : 0);
  let block = at + 1 + (isSingle ? 0 : 1) + (DICTIONARIES[descriptor & 3] ?? 0) + content;
  for (let isLast = false; !isLast && block < file.size;) {
    const header = readNumberAt(file, block, BLOCK_HEADER);
    const [type, size] = [(header >>> 1) & 3, header >>> 3];
    isLast = (header & 1) !== 0;
    block += BLOCK_HEADER + (type === ONE_BYTE_REPEATED ? 1 : size);
  }
  return Math.min(file.size, block + ((descriptor & CHECKSUM) === 0 ? 0 : WORD));
}

/** Reads a little-endian number; bytes after the end of the file count as 0. */
function readNumberAt(file: LogSource, at: number, bytes: number): number {
  const end = Math.min(file.size, at + bytes);
  return end <= at ? 0 : file.read(at, end).readUIntLE(0, end - at);
}

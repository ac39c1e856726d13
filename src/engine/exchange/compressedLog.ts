import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
/**
 * Reads logs that are compressed as a whole with gzip or Zstandard, in one part or several. The unpacked bytes are
 * bounded. The bytes before a damaged part are kept.
 */
import * as zlib from 'node:zlib';
import type { LeftOutCounts } from '../../logs/episode.ts';
import type { LogSource } from '../../logs/source.ts';
import { C3Error, CancelledError, messageOf } from '../../shared/errors.ts';
import { oneLine } from '../../shared/text/oneLine.ts';
import { bytesWords } from '../../shared/text/sizes.ts';
import { LogFile } from './logFile.ts';
import { UnpackedFile } from './unpackedFile.ts';

/** Bytes that a log may come to; a few can be made to say as many as one likes. */
export const MOST_UNPACKED = 2 ** 33;

/** Bytes that are unpacked at once. A damaged step loses all its bytes, so it is tried again in smaller steps. */
const PIECES = [2 ** 16, 2 ** 6, 1] as const;
/** Pieces that may wait between what reads and what unpacks. */
const WAITING = 8;
/** Characters of a reason. */
const MOST_WORDS = 100;

const GZIP = Buffer.from([0x1f, 0x8b]);
const ZSTANDARD = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

const isGzip = (head: Buffer): boolean => head.subarray(0, GZIP.length).equals(GZIP);
export const isZstandard = (head: Buffer): boolean => head.subarray(0, ZSTANDARD.length).equals(ZSTANDARD);
export const isCompressed = (head: Buffer): boolean => isGzip(head) || isZstandard(head) || isSkippedFrame(head);

/** @throws Error where this Node has no Zstandard */
export function zstandard(): Duplex {
  requireZstandard();
  return zlib.createZstdDecompress();
}

/** What a few bytes hold, at most `most` bytes. @throws Error for what is none, or more */
export function zstandardOf(bytes: Buffer, most: number): Buffer {
  requireZstandard();
  return zlib.zstdDecompressSync(bytes, { maxOutputLength: most });
}

function requireZstandard(): void {
  if (typeof zlib.createZstdDecompress !== 'function') {
    throw new Error('it is compressed with Zstandard, which needs Node 22.15 or newer');
  }
}

/**
 * Unpacks a compressed log into a new file. A damaged log is unpacked up to the damage, to the end of its last whole
 * line.
 * @param head its first bytes
 * @param most bytes that it may hold
 * @returns what was left out, by the reason
 * @throws C3Error('input') for one of which nothing can be unpacked, or that holds more than is read; CancelledError
 */
export async function decompressed(
  path: string,
  out: string,
  signal: AbortSignal,
  head: Buffer,
  most = MOST_UNPACKED,
): Promise<LeftOutCounts> {
  const file = new LogFile(path);
  try {
    const target = new UnpackedFile(out, most, () => tooMuch(`What ${path} holds is`, most));
    try {
      const damage = isGzip(head)
        ? await unpacked(file, { start: 0, end: file.size }, () => zlib.createGunzip(), target, signal)
        : await framesUnpacked(file, target, signal);
      if (damage === null) {
        return [];
      }
      if (target.length === 0) {
        throw damage;
      }
      target.cutToLines();
      const why = oneLine(messageOf(damage), MOST_WORDS);
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
      : new C3Error('input', `Cannot decompress ${path}: ${messageOf(error)}; give a whole file.`, { cause: error });
  } finally {
    file.close();
  }
}

/** Unpacks frame after frame: Node's own stream ends with the first. @returns what is wrong with one; null for none */
async function framesUnpacked(file: LogFile, target: UnpackedFile, signal: AbortSignal): Promise<Error | null> {
  for (const frame of zstandardFrames(file)) {
    if (frame === null) {
      return new Error('what follows is no Zstandard');
    }
    const damage = await unpacked(file, frame, zstandard, target, signal);
    if (damage !== null) {
      return damage;
    }
  }
  return null;
}

/**
 * Unpacks a part. Where it is damaged it is unpacked again, in smaller steps shortly before the damage.
 * @returns what is wrong with it; null for nothing
 * @throws what is wrong with the file that it is unpacked into; CancelledError
 */
async function unpacked(
  file: LogFile,
  part: Part,
  stream: () => Duplex,
  target: UnpackedFile,
  signal: AbortSignal,
): Promise<Error | null> {
  const before = target.length;
  const steps: { from: number; size: number }[] = [];
  let [damage, from]: [Error | null, number] = [null, part.start];
  for (const size of PIECES) {
    steps.push({ from, size });
    const pieces = new Pieces(file, part.end, steps);
    damage = await attempt(pieces, stream(), target, signal);
    // All that there is comes out of a part that is cut.
    if (damage === null || codeOf(damage) === 'Z_BUF_ERROR' || size === PIECES.at(-1)) {
      break;
    }
    target.cutTo(before);
    from = Math.max(from, pieces.read - WAITING * size);
  }
  return damage;
}

/** The bytes of a part, in pieces that are smaller from some places on. */
class Pieces implements Iterable<Buffer> {
  /** Up to where it was read. */
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
        // The bytes of the file are valid until the next are asked for.
        const piece = Buffer.from(this.file.read(this.read, next));
        this.read = next;
        yield piece;
      }
    }
  }
}

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');

/** @returns what is wrong with what is unpacked; null for nothing */
async function attempt(
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
    // Errors of unpacking have a code of zlib's; all others are of what is read or written.
    if (error instanceof Error && /^(?:Z_|ZSTD_)/u.test(codeOf(error))) {
      return error;
    }
    throw error;
  }
}

/** @param what a sentence's beginning, with its verb */
export const tooMuch = (what: string, most: number): C3Error =>
  new C3Error('input', `${what} more than ${bytesWords(most)}; split the log.`);

// The frames of a Zstandard file (RFC 8878), of which one may follow another.

/** Bytes of a file, from `start` to before `end`. */
interface Part {
  readonly start: number;
  readonly end: number;
}

const MAGIC = 0xfd2fb528;
const SKIPPED = 0x184d2a50;
/** Bytes: of a magic number, a length or a checksum, and of a block's header. */
const [WORD, BLOCK_HEADER] = [4, 3] as const;
/** Bytes of a frame's content size and of its dictionary's number, by the flags of its descriptor. */
const CONTENT_SIZES = [0, 2, 4, 8] as const;
const DICTIONARIES = [0, 1, 2, 4] as const;
const [SINGLE_SEGMENT, CHECKSUM, ONE_BYTE_REPEATED] = [0x20, 0x04, 1] as const;

/** Whether bytes begin with a frame that is to be skipped, as those of a parallel compressor do. */
const isSkippedFrame = (head: Buffer): boolean => head.length >= WORD && isSkipped(head.readUIntLE(0, WORD));

const isSkipped = (magic: number): boolean => (magic & ~0xf) >>> 0 === SKIPPED;

/**
 * Where the frames are; the last one may end with the file before its own end. What is to be skipped is.
 * @returns null, and then nothing more, for bytes that begin no frame
 */
function* zstandardFrames(file: LogSource): Generator<Part | null> {
  for (let start = 0; start < file.size;) {
    const magic = numberAt(file, start, WORD);
    if (isSkipped(magic)) {
      start += 2 * WORD + numberAt(file, start + WORD, WORD);
      continue;
    }
    if (magic !== MAGIC) {
      yield null;
      return;
    }
    const end = frameEnd(file, start + WORD);
    yield { start, end };
    start = end;
  }
}

/** @param at where its descriptor is */
function frameEnd(file: LogSource, at: number): number {
  const descriptor = numberAt(file, at, 1);
  const isSingle = (descriptor & SINGLE_SEGMENT) !== 0;
  // A single segment has its content's size in a byte at least, and no window's size.
  const content = CONTENT_SIZES[descriptor >>> 6] || (isSingle ? 1 : 0);
  let block = at + 1 + (isSingle ? 0 : 1) + (DICTIONARIES[descriptor & 3] ?? 0) + content;
  for (let isLast = false; !isLast && block < file.size;) {
    const header = numberAt(file, block, BLOCK_HEADER);
    const [type, size] = [(header >>> 1) & 3, header >>> 3];
    isLast = (header & 1) !== 0;
    block += BLOCK_HEADER + (type === ONE_BYTE_REPEATED ? 1 : size);
  }
  return Math.min(file.size, block + ((descriptor & CHECKSUM) === 0 ? 0 : WORD));
}

/** A number, the lowest byte first; bytes after the end are 0. */
function numberAt(file: LogSource, at: number, bytes: number): number {
  const end = Math.min(file.size, at + bytes);
  return end <= at ? 0 : file.read(at, end).readUIntLE(0, end - at);
}

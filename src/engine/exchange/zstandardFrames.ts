/** The frames of a Zstandard file (RFC 8878), of which one may follow another. */
import type { LogSource } from '../../logs/source.ts';

/** Bytes of a file, from `start` to before `end`. */
export interface Part {
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
export const isSkippedFrame = (head: Buffer): boolean => head.length >= WORD && isSkipped(head.readUIntLE(0, WORD));

const isSkipped = (magic: number): boolean => (magic & ~0xf) >>> 0 === SKIPPED;

/**
 * Where the frames are; the last one may end with the file before its own end. What is to be skipped is.
 * @returns null, and then nothing more, for bytes that begin no frame
 */
export function* zstandardFrames(file: LogSource): Generator<Part | null> {
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

/** Logs that are compressed as a whole, with gzip or Zstandard; what comes out of them is counted. */
import { createReadStream, createWriteStream } from 'node:fs';
import { Transform, type Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import * as zlib from 'node:zlib';
import { PRIVATE_FILE } from '../../files/newFile.ts';
import type { LeftOutCounts } from '../../logs/episode.ts';
import { C3Error, CancelledError, messageOf } from '../../shared/errors.ts';
import { bytesWords } from '../../shared/text/sizes.ts';

/** Bytes that a log may come to; a few can be made to say as many as one likes. */
export const MOST_UNPACKED = 2 ** 33;

const GZIP = Buffer.from([0x1f, 0x8b]);
const ZSTANDARD = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

const isGzip = (head: Buffer): boolean => head.subarray(0, GZIP.length).equals(GZIP);
export const isZstandard = (head: Buffer): boolean => head.subarray(0, ZSTANDARD.length).equals(ZSTANDARD);
export const isCompressed = (head: Buffer): boolean => isGzip(head) || isZstandard(head);

/** Counts bytes that pass, over all that share the count. */
export const counted = (count: { bytes: number }, most: number, tooMuch: () => Error): Transform =>
  new Transform({
    transform(bytes: Buffer, _, done) {
      count.bytes += bytes.length;
      done(count.bytes > most ? tooMuch() : null, bytes);
    },
  });

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
 * Writes what a compressed log holds into a new file.
 * @param head its first bytes
 * @param most bytes that it may hold
 * @throws C3Error('input') for one that is damaged, or holds more than is read; CancelledError
 */
export async function decompressed(
  path: string,
  out: string,
  signal: AbortSignal,
  head: Buffer,
  most = MOST_UNPACKED,
): Promise<LeftOutCounts> {
  try {
    await pipeline(
      createReadStream(path),
      isGzip(head) ? zlib.createGunzip() : zstandard(),
      counted({ bytes: 0 }, most, () => tooMuch(`What ${path} holds is`, most)),
      createWriteStream(out, { flags: 'wx', mode: PRIVATE_FILE }),
      { signal },
    );
  } catch (error) {
    if (signal.aborted) {
      throw new CancelledError();
    }
    throw error instanceof C3Error
      ? error
      : new C3Error('input', `Cannot decompress ${path}: ${messageOf(error)}; give a whole file.`, { cause: error });
  }
  return [];
}

/** @param what a sentence's beginning, with its verb */
export const tooMuch = (what: string, most: number): C3Error =>
  new C3Error('input', `${what} more than ${bytesWords(most)}; split the log.`);

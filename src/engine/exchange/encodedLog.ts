/** Logs in UTF-16, as Windows writes them: they begin with a byte order mark, and are read as UTF-8. */
import { createReadStream } from 'node:fs';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { LeftOutCounts } from '../../logs/episode.ts';
import { C3Error, CancelledError, messageOf } from '../../shared/errors.ts';
import { MOST_UNPACKED, tooMuch } from './compressedLog.ts';
import { UnpackedFile } from './unpackedFile.ts';

const LITTLE_ENDIAN = Buffer.from([0xff, 0xfe]);
const BIG_ENDIAN = Buffer.from([0xfe, 0xff]);

const begins = (head: Buffer, mark: Buffer): boolean => head.subarray(0, mark.length).equals(mark);

/** Whether bytes begin with a mark of UTF-16. The one of UTF-8 is passed over where entries are looked for. */
export const isUtf16 = (head: Buffer): boolean => begins(head, LITTLE_ENDIAN) || begins(head, BIG_ENDIAN);

/**
 * Writes a log in UTF-16 as UTF-8 into a new file, without its mark. A half of a pair that is alone becomes U+FFFD.
 * @param head its first bytes
 * @param most bytes that it may come to
 * @throws C3Error('input') for one that cannot be read, or comes to more than is read; CancelledError
 */
export async function utf16AsUtf8(
  path: string,
  out: string,
  signal: AbortSignal,
  head: Buffer,
  most = MOST_UNPACKED,
): Promise<LeftOutCounts> {
  const target = new UnpackedFile(out, most, () => tooMuch(`What ${path} holds is`, most));
  try {
    await pipeline(createReadStream(path), decoded(begins(head, BIG_ENDIAN)), target.writable(), { signal });
    return [];
  } catch (error) {
    if (signal.aborted) {
      throw new CancelledError();
    }
    throw error instanceof C3Error
      ? error
      : new C3Error('input', `Cannot read ${path} as UTF-16: ${messageOf(error)}; save it as UTF-8.`, { cause: error });
  } finally {
    target.close();
  }
}

/** Decodes pieces, whose ends may lie within a character. */
function decoded(isSwapped: boolean): Transform {
  const decoder = new TextDecoder('utf-16le');
  // Not every Node decodes the other order.
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

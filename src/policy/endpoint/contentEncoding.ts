/** Unpacks bodies by the name in their Content-Encoding (RFC 9110, section 8.4). */

import { pipeline, type Readable } from 'node:stream';
import { promisify } from 'node:util';
import {
  brotliDecompress,
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  gunzip,
  inflate,
} from 'node:zlib';

type Unpacker = (
  bytes: Buffer,
  options: { readonly finishFlush: number; readonly maxOutputLength: number },
) => Promise<Buffer>;

const UNPACKERS = {
  gzip: promisify(gunzip) as Unpacker,
  'x-gzip': promisify(gunzip) as Unpacker,
  deflate: promisify(inflate) as Unpacker,
  br: promisify(brotliDecompress) as Unpacker,
} as const;

const STREAMS = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
} as const satisfies Record<keyof typeof UNPACKERS, unknown>;

const isKnown = (name: string): name is keyof typeof UNPACKERS => Object.hasOwn(UNPACKERS, name);

/**
 * Returns true if a body is packed.
 * @param encoding its Content-Encoding, if it has one
 */
export const isPacked = (encoding: string | undefined): boolean =>
  encoding !== undefined && !/^\s*(?:identity)?\s*$/iu.test(encoding);

/**
 * Unpacks a body. For one that was cut, it returns the part that came, so that the reader notices
 * what is missing.
 * @param most bytes of the unpacked body
 * @throws Error if the encoding is unknown, the body is damaged, or it has more bytes
 */
export async function unpackBody(bytes: Buffer, encoding: string | undefined, most: number): Promise<Buffer> {
  if (!isPacked(encoding) || bytes.length === 0) {
    return bytes;
  }
  const name = findEncoding(encoding);
  const finishFlush = name === 'br' ? constants.BROTLI_OPERATION_FLUSH : constants.Z_SYNC_FLUSH;
  return UNPACKERS[name](bytes, { finishFlush, maxOutputLength: most });
}

/**
 * Returns the unpacked bytes of a body as a stream. A reader that stops early destroys the body.
 * @throws Error if the encoding is unknown; reading throws if the body is damaged or breaks off
 */
export function unpackChunks(body: Readable, encoding: string | undefined): Readable {
  return isPacked(encoding) ? pipeline(body, STREAMS[findEncoding(encoding)](), () => undefined) : body;
}

function findEncoding(encoding = ''): keyof typeof UNPACKERS {
  const name = encoding.trim().toLowerCase();
  if (!isKnown(name)) {
    throw new Error(`packed as ${name.slice(0, 40)}, which is not read`);
  }
  return name;
}

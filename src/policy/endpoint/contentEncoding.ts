/** Bodies that came packed, by the name that their Content-Encoding gives (RFC 9110, section 8.4). */
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

/** Whether a body comes packed. @param encoding its Content-Encoding; undefined where it has none */
export const isPacked = (encoding: string | undefined): boolean =>
  encoding !== undefined && !/^\s*(?:identity)?\s*$/iu.test(encoding);

/**
 * A body as it was before it was packed; of one that was cut as much as came, so that its reader sees what is missing.
 * @param most bytes of it
 * @throws Error where it is packed in a way that is not known, is damaged, or has more bytes
 */
export async function unpackedBody(bytes: Buffer, encoding: string | undefined, most: number): Promise<Buffer> {
  if (!isPacked(encoding) || bytes.length === 0) {
    return bytes;
  }
  const name = packedAs(encoding);
  const finishFlush = name === 'br' ? constants.BROTLI_OPERATION_FLUSH : constants.Z_SYNC_FLUSH;
  return UNPACKERS[name](bytes, { finishFlush, maxOutputLength: most });
}

/**
 * The bytes of a body as they come. Who reads no further lets go of the body.
 * @throws Error where it is packed in a way that is not known; reading throws where it is damaged, or breaks off
 */
export function unpackedChunks(body: Readable, encoding: string | undefined): Readable {
  return isPacked(encoding) ? pipeline(body, STREAMS[packedAs(encoding)](), () => undefined) : body;
}

function packedAs(encoding = ''): keyof typeof UNPACKERS {
  const name = encoding.trim().toLowerCase();
  if (!isKnown(name)) {
    throw new Error(`packed as ${name.slice(0, 40)}, which is not read`);
  }
  return name;
}

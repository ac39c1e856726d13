/**
 * The storage format of token ids and log-probabilities: little-endian int32 and float32, which is the
 * memory format of every supported platform.
 */

import { hash } from 'node:crypto';
import type { EnvironmentEvent } from '../domain/episode.ts';
import { C3Error } from '../shared/errors.ts';

/** Bytes of a token id or a log-probability. */
const WIDTH = 4;

/** Returns the SHA-256 (hex) of the little-endian int32 bytes of the token ids. */
export function tokenHash(tokens: Int32Array): string {
  return tokens.length === 0 ? NO_TOKENS : hash('sha256', viewAsBuffer(tokens));
}
/** The hash of a message from a server, which has texts only. */
const NO_TOKENS = hash('sha256', '');

/** Returns the SHA-256 (hex) of the UTF-8 bytes of a text. */
export function textHash(text: string): string {
  return hash('sha256', text);
}

/** Returns the SHA-256 (hex) over all fields of an environment event except its score. */
export function eventHash({
  source,
  text,
  json,
  answers,
  done,
  derived,
  streamKey,
  closing,
}: EnvironmentEvent): string {
  return hash('sha256', JSON.stringify([source, text, json, answers ?? null, done, derived, streamKey, closing]));
}

/** Returns the bytes of the array without copying them. */
export function viewAsBuffer(values: Int32Array | Float32Array): Buffer {
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength);
}

/** @throws C3Error('store') if the bytes are not a whole number of ids */
export function decodeInt32(bytes: Buffer): Int32Array {
  return new Int32Array(copyAligned(bytes, 'token ids'));
}

/** @throws C3Error('store') if the bytes are not a whole number of log-probabilities */
export function decodeFloat32(bytes: Buffer): Float32Array {
  return new Float32Array(copyAligned(bytes, 'log-probabilities'));
}

/** Returns a copy that starts at an aligned address. */
function copyAligned(bytes: Buffer, what: string): ArrayBuffer {
  if (bytes.byteLength % WIDTH !== 0) {
    throw new C3Error(
      'store',
      `The store holds ${what} of a message in ${bytes.byteLength} bytes, and each takes ${WIDTH}: the store is damaged; see c3 doctor, or put a copy back.`,
    );
  }
  const copy = new ArrayBuffer(bytes.byteLength);
  new Uint8Array(copy).set(bytes);
  return copy;
}

/**
 * How token ids and log-probabilities lie in the store: little-endian int32 and float32, as every supported platform
 * holds them in memory.
 */
import { hash } from 'node:crypto';
import type { EnvironmentEvent } from '../domain/episode.ts';
import { C3Error } from '../shared/errors.ts';

/** Bytes of a token id, and of a log-probability. */
const WIDTH = 4;

/** SHA-256 (hex) of the little-endian int32 bytes of the token ids. */
export function tokenHash(tokens: Int32Array): string {
  return tokens.length === 0 ? NO_TOKENS : hash('sha256', bytesOf(tokens));
}
/** Of a message that a server said: it has texts alone. */
const NO_TOKENS = hash('sha256', '');

/** SHA-256 (hex) of the UTF-8 bytes of a text. */
export function textHash(text: string): string {
  return hash('sha256', text);
}

/** SHA-256 (hex) over everything that an environment event is; what it was scored with is part of the return. */
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

/** The bytes of the array, not copied. */
export function bytesOf(values: Int32Array | Float32Array): Buffer {
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength);
}

/** @throws C3Error('store') for bytes that are no whole number of ids */
export function int32Of(bytes: Buffer): Int32Array {
  return new Int32Array(copyOf(bytes, 'token ids'));
}

/** @throws C3Error('store') for bytes that are no whole number of log-probabilities */
export function float32Of(bytes: Buffer): Float32Array {
  return new Float32Array(copyOf(bytes, 'log-probabilities'));
}

/** A copy that begins at an aligned address. */
function copyOf(bytes: Buffer, what: string): ArrayBuffer {
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

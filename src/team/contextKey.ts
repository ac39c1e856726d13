/** The name of a context: a hash of the exact model input (C3 appendix C). */
import { createHash } from 'node:crypto';
import { blake2b } from '@noble/hashes/blake2.js';

export interface ContextKey {
  /** BLAKE2b with an 8-byte digest, big endian, masked to 63 bits, as decimal text: it exceeds 2^53. */
  readonly key: string;
  /** The first 16 hex digits of SHA-256 of the same bytes. */
  readonly fingerprint: string;
}

const MASK = (1n << 63n) - 1n;

/**
 * Hashes the UTF-8 bytes of a model input as they are: nothing is trimmed or normalised; lone surrogates, which have no
 * UTF-8, are left out.
 */
export function contextKey(text: string): ContextKey {
  const bytes = new TextEncoder().encode(text.isWellFormed() ? text : text.replace(/\p{Surrogate}/gu, ''));
  const digest = blake2b(bytes, { dkLen: 8 });
  const key = new DataView(digest.buffer, digest.byteOffset, 8).getBigUint64(0) & MASK;
  return { key: key.toString(), fingerprint: createHash('sha256').update(bytes).digest('hex').slice(0, 16) };
}

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
const DIGEST = { dkLen: 8 } as const;

/**
 * Hashes the UTF-8 bytes of a model input exactly. Nothing is trimmed or normalized; lone surrogates,
 * which have no UTF-8 form, are left out.
 */
export function hashContext(text: string): ContextKey {
  const bytes = encodeWellFormed(text);
  return {
    key: formatKey(blake2b(bytes, DIGEST)),
    fingerprint: createHash('sha256').update(bytes).digest('hex').slice(0, 16),
  };
}

/** Returns only the key of a model input. @see hashContext */
export const hashContextKey = (text: string): string => formatKey(blake2b(encodeWellFormed(text), DIGEST));

/** The hashes of a model input that grows; they equal those of the whole text so far. */
export class GrowingContext {
  private readonly blake = blake2b.create(DIGEST);
  private readonly sha = createHash('sha256');

  /** @param piece must not divide a character */
  add(piece: string): void {
    this.blake.update(encodeWellFormed(piece));
    this.sha.update(piece);
  }

  /** Returns the key in the form of `hashContext`. */
  key(): string {
    return formatKey(this.blake.clone().digest());
  }

  /** Returns SHA-256 (hex) of the text, which identifies texts in the store. */
  sha256(): string {
    return this.sha.copy().digest('hex');
  }
}

const encoder = new TextEncoder();
const encodeWellFormed = (text: string): Uint8Array =>
  encoder.encode(text.isWellFormed() ? text : text.replace(/\p{Surrogate}/gu, ''));

const formatKey = (digest: Uint8Array): string =>
  (new DataView(digest.buffer, digest.byteOffset, 8).getBigUint64(0) & MASK).toString();

/** How token ids and log-probabilities lie in the store: little-endian int32 and float32, as every supported platform holds them in memory. */
import { hash } from 'node:crypto';

/** SHA-256 (hex) of the little-endian int32 bytes of the token ids. */
export function tokenHash(tokens: Int32Array): string {
  return hash('sha256', bytesOf(tokens));
}

/** SHA-256 (hex) of the UTF-8 bytes of a text. */
export function textHash(text: string): string {
  return hash('sha256', text);
}

/** The bytes of the array, not copied. */
export function bytesOf(values: Int32Array | Float32Array): Buffer {
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength);
}

export function int32Of(bytes: Buffer): Int32Array {
  return new Int32Array(copyOf(bytes));
}

export function float32Of(bytes: Buffer): Float32Array {
  return new Float32Array(copyOf(bytes));
}

/** A copy that begins at an aligned address. */
function copyOf(bytes: Buffer): ArrayBuffer {
  const copy = new ArrayBuffer(bytes.byteLength);
  new Uint8Array(copy).set(bytes);
  return copy;
}

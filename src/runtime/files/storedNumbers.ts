/**
 * Numbers as weights files store them, made float32 or float16 in memory that is there already. File and memory are
 * little-endian on every platform that the runtime supports.
 */
import { halfTable, type StoredType } from './safetensors.ts';

/** The exponent bits of a float32; all of them are set in an infinity or NaN, and in no finite number. */
const EXPONENT = 0x7f800000;
/** Added to exponent bits, it reaches the sign bit only where all of them are set. */
const LOWEST_EXPONENT = 0x00800000;

/**
 * Converts as many elements as `into` has, and looks at each in the same pass: weights have billions of numbers.
 * @param bytes of the elements, beginning at a multiple of 4 in their buffer; of F32 they may be the memory of `into`
 *   itself
 * @returns whether all of them are finite
 */
export function convertInto(bytes: Uint8Array<ArrayBuffer>, dtype: StoredType, into: Float32Array): boolean {
  const bits = new Int32Array(into.buffer, into.byteOffset, into.length);
  if (dtype === 'BF16') {
    return convertBrain(bytes, bits);
  }
  if (dtype === 'F16') {
    convertHalves(new Uint16Array(bytes.buffer, bytes.byteOffset, into.length), into);
  } else if (bytes.buffer !== into.buffer) {
    bits.set(new Int32Array(bytes.buffer, bytes.byteOffset, into.length));
  }
  let signs = 0;
  for (let index = 0; index < bits.length; index++) {
    signs |= ((bits[index] ?? 0) & EXPONENT) + LOWEST_EXPONENT;
  }
  return signs >= 0;
}

/** bfloat16 is the upper half of a float32; two are read at a time. */
function convertBrain(bytes: Uint8Array<ArrayBuffer>, bits: Int32Array): boolean {
  const pairs = new Int32Array(bytes.buffer, bytes.byteOffset, bits.length >> 1);
  let signs = 0;
  for (let index = 0; index < pairs.length; index++) {
    const pair = pairs[index] ?? 0;
    const first = pair << 16;
    const second = pair & 0xffff0000;
    bits[2 * index] = first;
    bits[2 * index + 1] = second;
    signs |= ((first & EXPONENT) + LOWEST_EXPONENT) | ((second & EXPONENT) + LOWEST_EXPONENT);
  }
  if (bits.length % 2 === 1) {
    const last = ((bytes[2 * bits.length - 2] ?? 0) << 16) | ((bytes[2 * bits.length - 1] ?? 0) << 24);
    bits[bits.length - 1] = last;
    signs |= (last & EXPONENT) + LOWEST_EXPONENT;
  }
  return signs >= 0;
}

function convertHalves(halves: Uint16Array, into: Float32Array): void {
  const table = halfTable();
  for (let index = 0; index < halves.length; index++) {
    into[index] = table[halves[index] ?? 0] ?? 0;
  }
}

const ABSOLUTE = 0x7fffffff;
/**
 * As bits of float32: 65520, from which on numbers round to infinity, and 2^-14, below which float16 has fewer digits.
 */
const TOO_LARGE = 0x477ff000;
const SMALLEST_NORMAL = 0x38800000;
/** Exponents of float16 count from 15, those of float32 from 127. */
const REBIAS = 0x38000000;

/**
 * Rounds numbers to float16, to nearest with ties to even.
 * @param into their bits, as many as there are numbers
 * @returns whether all of them are within the reach of float16, whose largest number is 65,504
 */
export function roundInto(numbers: Float32Array, into: Uint16Array): boolean {
  const bits = new Int32Array(numbers.buffer, numbers.byteOffset, numbers.length);
  let largest = 0;
  for (let index = 0; index < bits.length; index++) {
    const own = bits[index] ?? 0;
    const magnitude = own & ABSOLUTE;
    if (magnitude > largest) {
      largest = magnitude;
    }
    // Small numbers are multiples of 2^-24, the last digit of a float32 between 0.5 and 1.
    const rounded =
      magnitude < SMALLEST_NORMAL
        ? (Math.fround(Math.abs(numbers[index] ?? 0) + 0.5) - 0.5) * 2 ** 24
        : (magnitude - REBIAS + 0xfff + ((magnitude >> 13) & 1)) >> 13;
    into[index] = ((own >>> 16) & 0x8000) | rounded;
  }
  return largest < TOO_LARGE;
}

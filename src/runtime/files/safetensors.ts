/** The safetensors format: an 8-byte little-endian header length, a JSON header, then the tensors. */

import { C3Error, toErrorMessage } from '../../shared/errors.ts';

export interface NamedTensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

/** Twenty times the longest header of a published dense model. Parsing a longer one would take seconds. */
const MAX_HEADER_BYTES = 16 * 1024 * 1024;
/** The largest model that config.json may describe has about 6,000. */
const MAX_TENSORS = 65_536;
const MAX_AXES = 8;
/** Bytes that are hashed or written in one go. */
const PIECE_BYTES = 16 * 1024 * 1024;

/** The text of a file for an error message: one line of bounded length. */
const quoteFileText = (text: string): string => JSON.stringify(text).slice(1, -1).slice(0, 100);

/** Bytes in front of the header that hold its length. */
export const HEADER_LENGTH_BYTES = 8;

/** The element types that are read, and their bytes per element. */
export const ELEMENT_BYTES = { F32: 4, F16: 2, BF16: 2 } as const;
export type StoredType = keyof typeof ELEMENT_BYTES;

/** A tensor as the header describes it. */
export interface StoredTensor {
  readonly dtype: StoredType;
  readonly shape: readonly number[];
  /** First byte of the tensor, counted from the end of the header; `end` is exclusive. */
  readonly start: number;
  readonly end: number;
}

const damagedFileError = (place: string, what: string): C3Error =>
  new C3Error('model', `${place}: ${what}; copy the weights again from their source.`);

/**
 * Returns the length of the header in bytes.
 * @param start the first bytes of the file
 * @param fileBytes length of the whole file
 * @throws C3Error('model') if the file cannot hold such a header
 */
export function readHeaderLength(start: Uint8Array, fileBytes: number, place: string): number {
  if (start.length < HEADER_LENGTH_BYTES) {
    throw damagedFileError(place, 'the file is too short for a safetensors header');
  }
  const length = Number(new DataView(start.buffer, start.byteOffset, start.byteLength).getBigUint64(0, true));
  if (HEADER_LENGTH_BYTES + length > fileBytes) {
    throw damagedFileError(place, 'the safetensors header is truncated');
  }
  if (length > MAX_HEADER_BYTES) {
    throw damagedFileError(
      place,
      `the safetensors header has ${length} bytes, more than the ${MAX_HEADER_BYTES} that are read`,
    );
  }
  return length;
}

/**
 * Reads a header and checks every entry.
 * @param dataBytes bytes of the file after the header
 * @throws C3Error('model') naming the file and the tensor
 */
export function parseHeader(
  bytes: Uint8Array,
  dataBytes: number,
  place: string,
): { tensors: Map<string, StoredTensor>; metadata: Record<string, string> } {
  const fail = (what: string): C3Error => damagedFileError(place, what);
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw fail(`the safetensors header is not JSON (${quoteFileText(toErrorMessage(error))})`);
  }
  if (typeof header !== 'object' || header === null || Array.isArray(header)) {
    throw fail('the safetensors header is not an object');
  }
  const tensors = new Map<string, StoredTensor>();
  const metadata: Record<string, string> = {};
  const entries = Object.entries(header) as [string, unknown][];
  if (entries.length > MAX_TENSORS) {
    throw fail(`the safetensors header names ${entries.length} tensors, more than the ${MAX_TENSORS} that are read`);
  }
  for (const [name, entry] of entries) {
    if (name === '__metadata__') {
      if (typeof entry !== 'object' || entry === null) {
        throw fail('the safetensors metadata is not an object');
      }
      for (const [key, value] of Object.entries(entry) as [string, unknown][]) {
        if (typeof value !== 'string') {
          throw fail(`the safetensors metadata gives ${quoteFileText(key)} a value that is not text`);
        }
        metadata[key] = value;
      }
      continue;
    }
    const tensor = parseTensorEntry(entry, name, fail);
    const needed = tensor.shape.reduce((product, dim) => product * dim, 1) * ELEMENT_BYTES[tensor.dtype];
    const stored = tensor.end - tensor.start;
    if (tensor.end > dataBytes) {
      throw fail(`tensor ${quoteFileText(name)} is truncated`);
    }
    if (stored !== needed) {
      throw fail(`tensor ${quoteFileText(name)} has ${stored} bytes where its shape needs ${needed}`);
    }
    tensors.set(name, tensor);
  }
  let end = 0;
  for (const [name, tensor] of [...tensors].sort(([, a], [, b]) => a.start - b.start || a.end - b.end)) {
    if (tensor.start < end) {
      throw fail(`tensor ${quoteFileText(name)} overlaps the tensor before it`);
    }
    end = tensor.end;
  }
  return { tensors, metadata };
}

/**
 * Reads every tensor as float32 from F32, F16 or BF16.
 * @param file the bytes of the whole file
 * @param place name of the file in error messages
 * @throws C3Error('model') naming the file and the tensor, if the file is truncated or inconsistent
 */
export function readSafetensors(
  file: Uint8Array,
  place: string,
): { tensors: Map<string, NamedTensor>; metadata: Record<string, string> } {
  const data = HEADER_LENGTH_BYTES + readHeaderLength(file, file.length, place);
  const { tensors, metadata } = parseHeader(file.subarray(HEADER_LENGTH_BYTES, data), file.length - data, place);
  const read = [...tensors].map(
    ([name, { dtype, shape, start, end }]) =>
      [name, { name, shape, data: toFloat32(file.subarray(data + start, data + end), dtype) }] as const,
  );
  return { tensors: new Map(read), metadata };
}

function parseTensorEntry(entry: unknown, name: string, fail: (what: string) => C3Error): StoredTensor {
  const {
    dtype,
    shape,
    data_offsets: offsets,
  } = (typeof entry === 'object' && entry !== null ? entry : {}) as Record<string, unknown>;
  const isLength = (value: unknown): value is number =>
    typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
  if (dtype !== 'F32' && dtype !== 'F16' && dtype !== 'BF16') {
    throw fail(
      `tensor ${quoteFileText(name)} has the unsupported type ${typeof dtype === 'string' ? quoteFileText(dtype) : typeof dtype}`,
    );
  }
  if (!Array.isArray(shape) || !shape.every(isLength)) {
    throw fail(`tensor ${quoteFileText(name)} has no valid shape`);
  }
  if (shape.length > MAX_AXES) {
    throw fail(`tensor ${quoteFileText(name)} has ${shape.length} dimensions, more than the ${MAX_AXES} that are read`);
  }
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isLength)) {
    throw fail(`tensor ${quoteFileText(name)} has no valid offsets`);
  }
  const [start, end] = offsets as [number, number];
  if (end < start) {
    throw fail(`tensor ${quoteFileText(name)} has no valid offsets`);
  }
  return { dtype, shape, start, end };
}

/**
 * Converts stored elements to float32. File and memory are little-endian on every platform that the
 * runtime supports.
 */
export function toFloat32(bytes: Uint8Array, dtype: StoredType): Float32Array {
  // A copy starts at an aligned address, and the memory of the file can be freed.
  const { buffer } = new Uint8Array(bytes);
  if (dtype === 'F32') {
    return new Float32Array(buffer);
  }
  const halves = new Uint16Array(buffer);
  const result = new Float32Array(halves.length);
  if (dtype === 'F16') {
    const table = halfTable();
    for (let index = 0; index < halves.length; index++) {
      result[index] = table[halves[index] ?? 0] ?? 0;
    }
  } else {
    const bits = new Uint32Array(result.buffer);
    for (let index = 0; index < halves.length; index++) {
      bits[index] = (halves[index] ?? 0) << 16;
    }
  }
  return result;
}

let halfValues: Float32Array | undefined;
/**
 * Returns the value of every binary16 number by its bits. The table is made on first use, because
 * weights have billions of elements.
 */
export function halfTable(): Float32Array {
  halfValues ??= Float32Array.from({ length: 2 ** 16 }, (_, half) => halfToFloat(half));
  return halfValues;
}

/** Converts IEEE 754 binary16 to a number. */
export function halfToFloat(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0) {
    return sign * fraction * 2 ** -24;
  }
  if (exponent === 31) {
    return fraction === 0 ? sign * Infinity : NaN;
  }
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** Converts a float32 number to IEEE 754 binary16, rounded to nearest, ties to even. */
export function floatToHalf(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const magnitude = Math.abs(value);
  if (Number.isNaN(value)) {
    return 0x7e00;
  }
  if (magnitude >= 65520) {
    return sign | 0x7c00;
  }
  if (magnitude < 2 ** -14) {
    return sign | roundHalfToEven(magnitude * 2 ** 24);
  }
  const exponent = Math.floor(Math.log2(magnitude));
  const scaled = roundHalfToEven((magnitude / 2 ** exponent - 1) * 1024);
  return sign | (((exponent + 15) << 10) + scaled);
}

function roundHalfToEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest > 0.5 || (rest === 0.5 && floor % 2 === 1)) {
    return floor + 1;
  }
  return floor;
}

/**
 * Serializes float32 tensors as F32, or rounded to F16, in the given order.
 * @param pieceBytes largest size of a piece, because the whole file may be longer than any buffer
 * @returns the header, then the pieces, which may share memory with the tensors
 */
export function* writeSafetensors(
  tensors: readonly NamedTensor[],
  dtype: 'F32' | 'F16',
  metadata: Readonly<Record<string, string>> = {},
  pieceBytes = PIECE_BYTES,
): Generator<Uint8Array, undefined> {
  const width = ELEMENT_BYTES[dtype];
  const header: Record<string, unknown> = { __metadata__: metadata };
  let offset = 0;
  for (const { name, shape, data } of tensors) {
    header[name] = { dtype, shape, data_offsets: [offset, offset + data.length * width] };
    offset += data.length * width;
  }
  const json = new TextEncoder().encode(JSON.stringify(header));
  const padded = Math.ceil(json.length / 8) * 8;
  const start = new Uint8Array(HEADER_LENGTH_BYTES + padded);
  new DataView(start.buffer).setBigUint64(0, BigInt(padded), true);
  start.fill(0x20, HEADER_LENGTH_BYTES).set(json, HEADER_LENGTH_BYTES);
  yield start;
  for (const { data } of tensors) {
    for (const piece of splitNumbers(data, Math.floor(pieceBytes / width))) {
      yield viewBytes(dtype === 'F32' ? piece : Uint16Array.from(piece, floatToHalf));
    }
  }
}

/**
 * Yields the bytes of float32 numbers in views of at most `pieceBytes`, so that a caller can hash or
 * write a large vector in parts.
 */
export function* bytePieces(data: Float32Array, pieceBytes = PIECE_BYTES): Generator<Uint8Array, undefined> {
  for (const piece of splitNumbers(data, Math.floor(pieceBytes / ELEMENT_BYTES.F32))) {
    yield viewBytes(piece);
  }
}

function* splitNumbers(data: Float32Array, elements: number): Generator<Float32Array, undefined> {
  for (let from = 0; from < data.length; from += elements) {
    yield data.subarray(from, from + elements);
  }
}

const viewBytes = ({ buffer, byteOffset, byteLength }: Float32Array | Uint16Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

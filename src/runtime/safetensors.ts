/** The safetensors file format: an 8-byte little-endian header length, a JSON header, then the tensors' bytes. */
import { C3Error, messageOf } from '../shared/errors.ts';

export interface NamedTensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

const MAX_HEADER_BYTES = 100 * 1024 * 1024;

/** Text of a file as error messages show it: one line of bounded length. */
const shown = (text: string): string => JSON.stringify(text).slice(1, -1).slice(0, 100);

/**
 * Reads every tensor as float32 (F32, F16 and BF16 at rest).
 * @param file the whole file
 * @param place how error messages name the file
 * @throws C3Error('model') on a truncated or inconsistent file, naming the file and the tensor
 */
export function readSafetensors(file: Uint8Array, place: string): { tensors: Map<string, NamedTensor>; metadata: Record<string, string> } {
  const fail = (what: string): C3Error => new C3Error('model', `${place}: ${what}; copy the weights again from their source.`);
  if (file.length < 8) throw fail('the file is too short for a safetensors header');
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const headerBytes = Number(view.getBigUint64(0, true));
  if (headerBytes > MAX_HEADER_BYTES || 8 + headerBytes > file.length) throw fail('the safetensors header is truncated');
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(file.subarray(8, 8 + headerBytes)));
  } catch (error) {
    throw fail(`the safetensors header is not JSON (${messageOf(error)})`);
  }
  if (typeof header !== 'object' || header === null || Array.isArray(header)) throw fail('the safetensors header is not an object');
  const tensors = new Map<string, NamedTensor>();
  const metadata: Record<string, string> = {};
  for (const [name, entry] of Object.entries(header) as [string, unknown][]) {
    if (name === '__metadata__') {
      if (typeof entry !== 'object' || entry === null) throw fail('the safetensors metadata is not an object');
      for (const [key, value] of Object.entries(entry)) metadata[key] = String(value);
      continue;
    }
    const { dtype, shape, start, end } = checkedEntry(entry, name, fail);
    const bytes = file.subarray(8 + headerBytes + start, 8 + headerBytes + end);
    const elements = shape.reduce((product, dim) => product * dim, 1);
    const width = dtype === 'F32' ? 4 : 2;
    if (bytes.length !== end - start) throw fail(`tensor ${shown(name)} is truncated`);
    if (bytes.length !== elements * width) throw fail(`tensor ${shown(name)} has ${String(bytes.length)} bytes where its shape needs ${String(elements * width)}`);
    tensors.set(name, { name, shape, data: toFloat32(bytes, dtype) });
  }
  return { tensors, metadata };
}

type StoredType = 'F32' | 'F16' | 'BF16';

function checkedEntry(entry: unknown, name: string, fail: (what: string) => C3Error): { dtype: StoredType; shape: number[]; start: number; end: number } {
  const { dtype, shape, data_offsets: offsets } = (typeof entry === 'object' && entry !== null ? entry : {}) as Record<string, unknown>;
  const isLength = (value: unknown): value is number => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
  if (dtype !== 'F32' && dtype !== 'F16' && dtype !== 'BF16') throw fail(`tensor ${shown(name)} has the unsupported type ${shown(String(dtype))}`);
  if (!Array.isArray(shape) || !shape.every(isLength)) throw fail(`tensor ${shown(name)} has no valid shape`);
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isLength)) throw fail(`tensor ${shown(name)} has no valid offsets`);
  const [start, end] = offsets as [number, number];
  if (end < start) throw fail(`tensor ${shown(name)} has no valid offsets`);
  return { dtype, shape, start, end };
}

/** Elements as numbers; file and memory are little-endian on every platform that the runtime supports. */
function toFloat32(bytes: Uint8Array, dtype: StoredType): Float32Array {
  // A copy begins at an aligned address, and the file's own memory can be freed.
  const { buffer } = new Uint8Array(bytes);
  if (dtype === 'F32') return new Float32Array(buffer);
  const halves = new Uint16Array(buffer);
  const result = new Float32Array(halves.length);
  if (dtype === 'F16') {
    for (let index = 0; index < halves.length; index++) result[index] = halfToFloat(halves[index] ?? 0);
  } else {
    const bits = new Uint32Array(result.buffer);
    for (let index = 0; index < halves.length; index++) bits[index] = (halves[index] ?? 0) << 16;
  }
  return result;
}

/** IEEE 754 binary16 to a number. */
export function halfToFloat(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** A float32 number to IEEE 754 binary16, rounded to nearest, ties to even. */
export function floatToHalf(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const magnitude = Math.abs(value);
  if (Number.isNaN(value)) return 0x7e00;
  if (magnitude >= 65520) return sign | 0x7c00;
  if (magnitude < 2 ** -14) return sign | roundHalfToEven(magnitude * 2 ** 24);
  const exponent = Math.floor(Math.log2(magnitude));
  const scaled = roundHalfToEven((magnitude / 2 ** exponent - 1) * 1024);
  return sign | (((exponent + 15) << 10) + scaled);
}

function roundHalfToEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest > 0.5 || (rest === 0.5 && floor % 2 === 1)) return floor + 1;
  return floor;
}

/** Serialises float32 tensors, as F32 or rounded to F16, in the order given. */
export function writeSafetensors(tensors: readonly NamedTensor[], dtype: 'F32' | 'F16', metadata: Readonly<Record<string, string>> = {}): Uint8Array {
  const width = dtype === 'F32' ? 4 : 2;
  const header: Record<string, unknown> = { __metadata__: metadata };
  let offset = 0;
  for (const { name, shape, data } of tensors) {
    header[name] = { dtype, shape, data_offsets: [offset, offset + data.length * width] };
    offset += data.length * width;
  }
  const json = new TextEncoder().encode(JSON.stringify(header));
  const padded = Math.ceil(json.length / 8) * 8;
  const file = new Uint8Array(8 + padded + offset);
  const view = new DataView(file.buffer);
  view.setBigUint64(0, BigInt(padded), true);
  file.fill(0x20, 8, 8 + padded).set(json, 8);
  let position = 8 + padded;
  for (const { data } of tensors) {
    const elements = dtype === 'F32' ? data : Uint16Array.from(data, floatToHalf);
    file.set(new Uint8Array(elements.buffer, elements.byteOffset, elements.byteLength), position);
    position += data.length * width;
  }
  return file;
}

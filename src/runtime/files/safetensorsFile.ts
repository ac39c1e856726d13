/** Reads tensors of safetensors files piece by piece into existing memory, never a whole file. */

import type { FileHandle } from 'node:fs/promises';
import { C3Error, toErrorMessage } from '../../shared/errors.ts';
import { openModelFile } from './modelFile.ts';
import {
  ELEMENT_BYTES,
  HEADER_LENGTH_BYTES,
  readHeaderLength,
  parseHeader,
  type StoredTensor,
  halfTable,
  type StoredType,
} from './safetensors.ts';

/** Bytes of one read: few enough to stay in the cache of the processor until they are converted. */
const PIECE = 1024 * 1024;

const ADVICE = 'choose a folder with config.json and model.safetensors';

/** A tensor to read and the memory that receives it. */
export interface TensorTarget {
  readonly name: string;
  readonly shape: readonly number[];
  /** One element for each of the shape: float32, or the bits of float16. */
  readonly into: TargetNumbers;
}

type TargetNumbers = Float32Array<ArrayBuffer> | Uint16Array<ArrayBuffer>;

/**
 * Receives each part of a target as soon as it is filled, and the bytes that the part took in the
 * file. An error thrown here ends the reading.
 */
export type OnPart = (part: TargetNumbers, bytes: number) => void;

/** An open file whose header has been checked against its length. */
export class SafetensorsFile {
  readonly path: string;
  readonly tensors: ReadonlyMap<string, StoredTensor>;
  readonly metadata: Readonly<Record<string, string>>;
  private readonly file: FileHandle;
  private readonly start: number;
  /** Two buffers that take turns: one is converted while the other is filled. */
  private buffers: readonly [Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>] = [
    new Uint8Array(PIECE),
    new Uint8Array(PIECE),
  ];
  /** A piece as float32, before it is rounded to float16. */
  private readonly widened = new Float32Array(PIECE / ELEMENT_BYTES.F16);

  private constructor(
    path: string,
    file: FileHandle,
    { tensors, metadata }: ReturnType<typeof parseHeader>,
    start: number,
  ) {
    this.path = path;
    this.file = file;
    this.tensors = tensors;
    this.metadata = metadata;
    this.start = start;
  }

  /**
   * Opens a file, calls `work` with it and always closes it.
   * @param advice what the user can do if the file cannot be read
   * @throws C3Error('model') naming the file and the tensor, if the file cannot be read, is truncated or
   *   is inconsistent
   */
  static async reading<Result>(
    path: string,
    work: (file: SafetensorsFile) => Promise<Result>,
    advice = ADVICE,
  ): Promise<Result> {
    const { file, size } = await openModelFile(path, advice);
    try {
      const header = readHeaderLength(
        await readBytesAt(file, 0, Math.min(size, HEADER_LENGTH_BYTES), path),
        size,
        path,
      );
      const start = HEADER_LENGTH_BYTES + header;
      const contents = parseHeader(await readBytesAt(file, HEADER_LENGTH_BYTES, header, path), size - start, path);
      return await work(new SafetensorsFile(path, file, contents, start));
    } finally {
      await file.close();
    }
  }

  /**
   * Reads one tensor.
   * @throws C3Error('model') if it is missing, of another shape, or holds a value that is not
   *   finite or does not fit the type of the target
   */
  async read({ name, shape, into }: TensorTarget, onPart: OnPart = () => undefined): Promise<void> {
    const tensor = this.tensors.get(name);
    if (tensor === undefined) {
      throw new C3Error(
        'model',
        `${this.path}: tensor ${name} is missing; the weights do not belong to this config.json.`,
      );
    }
    if (tensor.shape.join('x') !== shape.join('x')) {
      throw new C3Error(
        'model',
        `${this.path}: tensor ${name} has shape [${tensor.shape.join(', ')}] where config.json needs [${shape.join(', ')}].`,
      );
    }
    if (into.length === 0) {
      return;
    }
    let next = this.piece(tensor, into, 0);
    for (let done = 0; done < into.length;) {
      const bytes = await next;
      const part = into.subarray(done, done + bytes.length / ELEMENT_BYTES[tensor.dtype]);
      done += part.length;
      if (done < into.length) {
        next = this.piece(tensor, into, done);
        // The next piece is read in the meantime. If this piece ends the reading, nothing awaits the next one.
        next.catch(() => undefined);
      }
      const numbers = part instanceof Float32Array ? part : this.widened.subarray(0, part.length);
      if (!convertToFloats(bytes, tensor.dtype, numbers)) {
        throw notFiniteError(this.path, name);
      }
      if (!(part instanceof Float32Array) && !roundToHalves(numbers, part)) {
        throw new C3Error(
          'model',
          `${this.path}: tensor ${name} holds a value outside the range of float16; set device.precision: float32.`,
        );
      }
      onPart(part, bytes.length);
    }
  }

  /**
   * Fills `into` with the elements of a tensor from element `from` on.
   * @throws C3Error('model') if the tensor is missing or an element is not finite
   */
  async numbers(name: string, from: number, into: Float32Array<ArrayBuffer>): Promise<void> {
    const tensor = this.tensors.get(name);
    if (tensor === undefined) {
      throw new C3Error('model', `${this.path}: tensor ${name} is missing.`);
    }
    const width = ELEMENT_BYTES[tensor.dtype];
    const bytes = new Uint8Array(into.length * width);
    await fillBytes(this.file, bytes, this.start + tensor.start + from * width, this.path);
    if (!convertToFloats(bytes, tensor.dtype, into)) {
      throw notFiniteError(this.path, name);
    }
  }

  /**
   * Reads the next bytes of a tensor from element `from` on. float32 is read directly into its target,
   * other types into one of two buffers that take turns.
   */
  private async piece(
    { dtype, start }: StoredTensor,
    into: TargetNumbers,
    from: number,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const width = ELEMENT_BYTES[dtype];
    const length = Math.min(PIECE, (into.length - from) * width);
    const buffer =
      dtype === 'F32' && into instanceof Float32Array
        ? new Uint8Array(into.buffer, into.byteOffset + from * width, length)
        : this.otherBuffer();
    return fillBytes(this.file, buffer.subarray(0, length), this.start + start + from * width, this.path);
  }

  private otherBuffer(): Uint8Array<ArrayBuffer> {
    this.buffers = [this.buffers[1], this.buffers[0]];
    return this.buffers[0];
  }
}

const notFiniteError = (path: string, name: string): C3Error =>
  new C3Error(
    'model',
    `${path}: tensor ${name} holds a value that is not a finite number; copy the weights again from their source.`,
  );

const readBytesAt = (
  file: FileHandle,
  position: number,
  length: number,
  path: string,
): Promise<Uint8Array<ArrayBuffer>> => fillBytes(file, new Uint8Array(length), position, path);

/** Fills `bytes` from the given position of the file. */
async function fillBytes(
  file: FileHandle,
  bytes: Uint8Array<ArrayBuffer>,
  position: number,
  path: string,
): Promise<Uint8Array<ArrayBuffer>> {
  for (let done = 0; done < bytes.length;) {
    let read: number;
    try {
      ({ bytesRead: read } = await file.read(bytes, done, bytes.length - done, position + done));
    } catch (error) {
      throw unreadableFileError(path, error);
    }
    if (read === 0) {
      throw new C3Error('model', `${path} became shorter while it was read; copy the weights again from their source.`);
    }
    done += read;
  }
  return bytes;
}

const unreadableFileError = (path: string, error: unknown): C3Error =>
  new C3Error('model', `Cannot read ${path}: ${toErrorMessage(error)}; ${ADVICE}.`, { cause: error });

/** The exponent bits of a float32. All of them are set only in an infinity or a NaN. */
const EXPONENT = 0x7f800000;
/** Added to the exponent bits, it reaches the sign bit only if all of them are set. */
const LOWEST_EXPONENT = 0x00800000;

/**
 * Fills `into` and checks each element in the same pass, because weights have billions of elements.
 * File and memory are little-endian on every platform that the runtime supports.
 * @param bytes of the elements, at a multiple of 4 in their buffer; for F32 they may be the memory of
 *   `into`
 * @returns true if all elements are finite
 */
export function convertToFloats(bytes: Uint8Array<ArrayBuffer>, dtype: StoredType, into: Float32Array): boolean {
  const bits = new Int32Array(into.buffer, into.byteOffset, into.length);
  if (dtype === 'BF16') {
    return convertBfloat16(bytes, bits);
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
function convertBfloat16(bytes: Uint8Array<ArrayBuffer>, bits: Int32Array): boolean {
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
/** As float32 bits: 65520, which rounds to infinity, and 2^-14, the smallest normal float16. */
const TOO_LARGE = 0x477ff000;
const SMALLEST_NORMAL = 0x38800000;
/** The exponent bias of float16 is 15, that of float32 is 127. */
const REBIAS = 0x38000000;

/**
 * Rounds numbers to float16, to nearest, ties to even.
 * @param into receives the bits, one element for each number
 * @returns true if all numbers fit float16, whose largest number is 65,504
 */
export function roundToHalves(numbers: Float32Array, into: Uint16Array): boolean {
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

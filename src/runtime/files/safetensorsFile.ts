/**
 * Reading tensors of safetensors files into memory that is there already: piece by piece, so that a file is never in
 * memory as a whole.
 */
import type { FileHandle } from 'node:fs/promises';
import { C3Error, messageOf } from '../../shared/errors.ts';
import { openModelFile } from './modelFile.ts';
import { ELEMENT_BYTES, HEADER_LENGTH_BYTES, headerLength, parseHeader, type StoredTensor } from './safetensors.ts';
import { convertInto, roundInto } from './storedNumbers.ts';

/** Bytes that are read in one go: few enough to stay in a processor's cache until they are converted. */
const PIECE = 1024 * 1024;

const ADVICE = 'choose a folder with config.json and model.safetensors';

/** Where a tensor goes. */
export interface TensorTarget {
  readonly name: string;
  readonly shape: readonly number[];
  /** As many elements as the shape has: float32, or the bits of float16. */
  readonly into: TargetNumbers;
}

type TargetNumbers = Float32Array<ArrayBuffer> | Uint16Array<ArrayBuffer>;

/**
 * Gets each part of a target as soon as it is filled, and the bytes it took in the file; what it throws ends the
 * reading.
 */
export type OnPart = (part: TargetNumbers, bytes: number) => void;

/** An open file whose header has been checked against its length. */
export class SafetensorsFile {
  readonly path: string;
  readonly tensors: ReadonlyMap<string, StoredTensor>;
  readonly metadata: Readonly<Record<string, string>>;
  private readonly file: FileHandle;
  private readonly start: number;
  /** One is converted while the other is read into. */
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
   * Opens a file for a piece of work and closes it whatever happens.
   * @param advice what to do where it cannot be read
   * @throws C3Error('model') where it cannot be read, or is truncated or inconsistent, naming the file and the tensor
   */
  static async reading<Result>(
    path: string,
    work: (file: SafetensorsFile) => Promise<Result>,
    advice = ADVICE,
  ): Promise<Result> {
    const { file, size } = await openModelFile(path, advice);
    try {
      const header = headerLength(await bytesAt(file, 0, Math.min(size, HEADER_LENGTH_BYTES), path), size, path);
      const start = HEADER_LENGTH_BYTES + header;
      const contents = parseHeader(await bytesAt(file, HEADER_LENGTH_BYTES, header, path), size - start, path);
      return await work(new SafetensorsFile(path, file, contents, start));
    } finally {
      await file.close();
    }
  }

  /**
   * Reads one tensor.
   * @throws C3Error('model') where it is missing, of another shape, or holds a value that is no finite number, or none
   *   that its place can hold
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
        // It is read meanwhile; where this piece ends the reading, nobody waits for it any more.
        next.catch(() => undefined);
      }
      const numbers = part instanceof Float32Array ? part : this.widened.subarray(0, part.length);
      if (!convertInto(bytes, tensor.dtype, numbers)) {
        throw notFinite(this.path, name);
      }
      if (!(part instanceof Float32Array) && !roundInto(numbers, part)) {
        throw new C3Error(
          'model',
          `${this.path}: tensor ${name} holds a value beyond the reach of float16; set device.precision: float32.`,
        );
      }
      onPart(part, bytes.length);
    }
  }

  /**
   * Numbers of a tensor that is there, from its element `from` on, as many as there is room for.
   * @throws C3Error('model') where one is not finite
   */
  async numbers(name: string, from: number, into: Float32Array<ArrayBuffer>): Promise<void> {
    const tensor = this.tensors.get(name);
    if (tensor === undefined) {
      throw new C3Error('model', `${this.path}: tensor ${name} is missing.`);
    }
    const width = ELEMENT_BYTES[tensor.dtype];
    const bytes = new Uint8Array(into.length * width);
    await fill(this.file, bytes, this.start + tensor.start + from * width, this.path);
    if (!convertInto(bytes, tensor.dtype, into)) {
      throw notFinite(this.path, name);
    }
  }

  /**
   * The bytes of a tensor from its element `from` on: float32 in the place where they stay, other types in one of two
   * buffers that take turns.
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
    return fill(this.file, buffer.subarray(0, length), this.start + start + from * width, this.path);
  }

  private otherBuffer(): Uint8Array<ArrayBuffer> {
    this.buffers = [this.buffers[1], this.buffers[0]];
    return this.buffers[0];
  }
}

const notFinite = (path: string, name: string): C3Error =>
  new C3Error(
    'model',
    `${path}: tensor ${name} holds a value that is not a finite number; copy the weights again from their source.`,
  );

const bytesAt = (file: FileHandle, position: number, length: number, path: string): Promise<Uint8Array<ArrayBuffer>> =>
  fill(file, new Uint8Array(length), position, path);

/** Reads as many bytes as there is room for. */
async function fill(
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
      throw unreadable(path, error);
    }
    if (read === 0) {
      throw new C3Error('model', `${path} became shorter while it was read; copy the weights again from their source.`);
    }
    done += read;
  }
  return bytes;
}

const unreadable = (path: string, error: unknown): C3Error =>
  new C3Error('model', `Cannot read ${path}: ${messageOf(error)}; ${ADVICE}.`, { cause: error });

/** Reading tensors of safetensors files into memory that is there already: piece by piece, so that a file is never in memory as a whole. */
import { open, type FileHandle } from 'node:fs/promises';
import { C3Error, messageOf } from '../shared/errors.ts';
import { ELEMENT_BYTES, HEADER_LENGTH_BYTES, headerLength, parseHeader, toFloat32, type StoredTensor } from './safetensors.ts';

/** Bytes that are read in one go. */
const PIECE = 16 * 1024 * 1024;

/** Where a tensor goes. */
export interface TensorTarget {
  readonly name: string;
  readonly shape: readonly number[];
  /** As many elements as the shape has. */
  readonly into: Float32Array;
}

/** An open file whose header has been checked against its length. */
export class SafetensorsFile {
  readonly path: string;
  readonly tensors: ReadonlyMap<string, StoredTensor>;
  private readonly file: FileHandle;
  private readonly start: number;

  private constructor(path: string, file: FileHandle, tensors: ReadonlyMap<string, StoredTensor>, start: number) {
    this.path = path;
    this.file = file;
    this.tensors = tensors;
    this.start = start;
  }

  /**
   * Opens a file for a piece of work and closes it whatever happens.
   * @throws C3Error('model') where it cannot be read, or is truncated or inconsistent, naming the file and the tensor
   */
  static async reading<Result>(path: string, work: (file: SafetensorsFile) => Promise<Result>): Promise<Result> {
    let file: FileHandle;
    try {
      file = await open(path, 'r');
    } catch (error) {
      throw unreadable(path, error);
    }
    try {
      const { size } = await file.stat();
      const header = headerLength(await bytesAt(file, 0, Math.min(size, HEADER_LENGTH_BYTES), path), size, path);
      const start = HEADER_LENGTH_BYTES + header;
      const { tensors } = parseHeader(await bytesAt(file, HEADER_LENGTH_BYTES, header, path), size - start, path);
      return await work(new SafetensorsFile(path, file, tensors, start));
    } finally {
      await file.close();
    }
  }

  /** Reads one tensor as float32. @throws C3Error('model') where it is missing, of another shape, or holds a value that is no finite number */
  async read({ name, shape, into }: TensorTarget): Promise<void> {
    const tensor = this.tensors.get(name);
    if (tensor === undefined) throw new C3Error('model', `${this.path}: tensor ${name} is missing; the weights do not belong to this config.json.`);
    if (tensor.shape.join('x') !== shape.join('x')) {
      throw new C3Error('model', `${this.path}: tensor ${name} has shape [${tensor.shape.join(', ')}] where config.json needs [${shape.join(', ')}].`);
    }
    const width = ELEMENT_BYTES[tensor.dtype];
    for (let done = 0; done < into.length; done += PIECE / width) {
      const elements = Math.min(PIECE / width, into.length - done);
      const piece = toFloat32(await bytesAt(this.file, this.start + tensor.start + done * width, elements * width, this.path), tensor.dtype);
      if (!allFinite(piece)) throw new C3Error('model', `${this.path}: tensor ${name} holds a value that is no finite number; copy the weights again from their source.`);
      into.set(piece, done);
    }
  }
}

/** As `every(Number.isFinite)`, several times faster: weights have billions of numbers. */
function allFinite(values: Float32Array): boolean {
  let difference = 0;
  // Infinity and NaN minus themselves are NaN, which stays.
  for (let index = 0; index < values.length; index++) {
    const value = values[index] ?? 0;
    difference += value - value;
  }
  return difference === 0;
}

async function bytesAt(file: FileHandle, position: number, length: number, path: string): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  for (let done = 0; done < length; ) {
    let read: number;
    try {
      ({ bytesRead: read } = await file.read(bytes, done, length - done, position + done));
    } catch (error) {
      throw unreadable(path, error);
    }
    if (read === 0) throw new C3Error('model', `${path} became shorter while it was read; copy the weights again from their source.`);
    done += read;
  }
  return bytes;
}

const unreadable = (path: string, error: unknown): C3Error => new C3Error('model', `Cannot read ${path}: ${messageOf(error)}; choose a folder with config.json and model.safetensors.`, { cause: error });

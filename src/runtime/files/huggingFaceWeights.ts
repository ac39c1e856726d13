/** Reads the weights of a model folder: one safetensors file, or several shards with an index. */

import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { C3Error, toErrorMessage } from '../../shared/errors.ts';
import { readModelFile } from './modelFile.ts';
import { SafetensorsFile, type OnPart, type TensorTarget } from './safetensorsFile.ts';

export const WEIGHTS_FILE = 'model.safetensors';
export const INDEX_FILE = 'model.safetensors.index.json';

/** Largest index that is read. The largest mixtures of experts have 10 MB: a line for each tensor. */
export const MAX_INDEX_BYTES = 32 * 1024 * 1024;
/** Largest number of files in an index. The largest published models have a few hundred. */
const MAX_SHARDS = 4096;
const indexSchema = z.looseObject({ weight_map: z.record(z.string(), z.string()) });
/** The file name of a shard, which lies in the folder of its index. */
const SHARD_NAME = /^[\w.-]+\.safetensors$/;
/** Rotary frequencies that older versions of Transformers stored. They follow from config.json. */
const DERIVED = /(^|\.)inv_freq$/;

/** Receives the progress of reading. It never goes back, and the last report is complete. */
export type OnLoadProgress = (bytesDone: number, bytesTotal: number) => void;

/** Callbacks that follow the reading. */
export interface Reading {
  /** Receives each part of a target as soon as it is filled. An error thrown here ends the reading. */
  readonly onPart?: OnPart | undefined;
  /** Called about ten times a second. */
  readonly onProgress?: OnLoadProgress | undefined;
}

/** Milliseconds between two reports of progress. */
const PROGRESS_INTERVAL_MILLISECONDS = 100;

/**
 * Reads every target from the weights of a folder.
 * @param ignored returns true for a tensor that the architecture does not use
 * @throws C3Error('model') naming the file and the tensor, if one is missing, damaged, of another
 *   shape, or belongs to another architecture
 */
export async function readWeights(
  folder: string,
  targets: readonly TensorTarget[],
  ignored: (name: string) => boolean,
  reading: Reading = {},
): Promise<void> {
  const single = join(folder, WEIGHTS_FILE);
  const indexPath = join(folder, INDEX_FILE);
  const singleBytes = await readFileSize(single);
  if (singleBytes !== null || (await readFileSize(indexPath)) === null) {
    const progress = new FileProgress(singleBytes ?? 0, reading);
    await readTensors(single, targets, ignored, progress.onPart);
    progress.fileDone(singleBytes ?? 0);
    return;
  }
  const places = await readIndex(indexPath);
  const known = new Set(targets.map(({ name }) => name));
  const surplus = Object.keys(places).find((name) => !known.has(name) && !ignored(name) && !DERIVED.test(name));
  if (surplus !== undefined) {
    throw unexpectedTensorError(indexPath, surplus);
  }
  const shards = Map.groupBy(targets, ({ name }) => {
    const shard = Object.hasOwn(places, name) ? places[name] : undefined;
    if (shard === undefined) {
      throw new C3Error(
        'model',
        `${indexPath} names no file for tensor ${name}; the weights do not belong to this config.json.`,
      );
    }
    if (!SHARD_NAME.test(shard)) {
      throw new C3Error(
        'model',
        `${indexPath} gives tensor ${name} a path that is not a file in its folder: ${shown(shard)}; copy the weights again from their source.`,
      );
    }
    return shard;
  });
  // A missing file is named before gigabytes of the others are read.
  const sizes = new Map<string, number>();
  for (const [shard, [first]] of shards) {
    const size = await readFileSize(join(folder, shard));
    if (size === null) {
      throw new C3Error(
        'model',
        `${join(folder, shard)} is missing, where ${INDEX_FILE} places tensor ${first?.name ?? ''}; copy the weights again from their source.`,
      );
    }
    sizes.set(shard, size);
  }
  const progress = new FileProgress(
    [...sizes.values()].reduce((total, size) => total + size, 0),
    reading,
  );
  for (const [shard, members] of shards) {
    await readTensors(
      join(folder, shard),
      members,
      (name) => ignored(name) || Object.hasOwn(places, name),
      progress.onPart,
    );
    progress.fileDone(sizes.get(shard) ?? 0);
  }
}

/** Elements of two tensors that are compared at a time. */
const COMPARED = 1 << 18;

/**
 * Returns true if two tensors of a folder have the same shape and numbers, or null if one of them is
 * not stored.
 * @throws C3Error('model') for the reasons of readWeights
 */
export async function haveSameNumbers(folder: string, first: string, second: string): Promise<boolean | null> {
  const single = join(folder, WEIGHTS_FILE);
  const places = (await readFileSize(single)) === null ? await readIndex(join(folder, INDEX_FILE)) : null;
  const pathOf = (name: string): string | null => {
    const shard = places === null ? WEIGHTS_FILE : Object.hasOwn(places, name) ? places[name] : undefined;
    return shard === undefined || !(places === null || SHARD_NAME.test(shard)) ? null : join(folder, shard);
  };
  const [one, other] = [pathOf(first), pathOf(second)];
  if (one === null || other === null) {
    return null;
  }
  return SafetensorsFile.reading(one, (left) =>
    SafetensorsFile.reading(other, (right) => compareTensors(left, first, right, second)),
  );
}

async function compareTensors(
  left: SafetensorsFile,
  first: string,
  right: SafetensorsFile,
  second: string,
): Promise<boolean | null> {
  const [shape, otherShape] = [left.tensors.get(first)?.shape, right.tensors.get(second)?.shape];
  if (shape === undefined || otherShape === undefined) {
    return null;
  }
  if (shape.join('x') !== otherShape.join('x')) {
    return false;
  }
  const length = shape.reduce((product, dim) => product * dim, 1);
  for (let from = 0; from < length; from += COMPARED) {
    const count = Math.min(COMPARED, length - from);
    const [a, b] = [new Float32Array(count), new Float32Array(count)];
    await left.numbers(first, from, a);
    await right.numbers(second, from, b);
    if (a.some((value, at) => value !== b[at])) {
      return false;
    }
  }
  return true;
}

/** Counts the bytes that were read. Headers and unused tensors are counted at the end of their file. */
class FileProgress {
  readonly onPart: OnPart;
  private readonly total: number;
  private readonly onProgress: OnLoadProgress | undefined;
  private finished = 0;
  private inFile = 0;
  private reported = -Infinity;

  constructor(total: number, { onPart, onProgress }: Reading) {
    this.total = total;
    this.onProgress = onProgress;
    this.onPart = (part, bytes) => {
      onPart?.(part, bytes);
      this.inFile += bytes;
      this.report();
    };
  }

  fileDone(bytes: number): void {
    this.finished += bytes;
    this.inFile = 0;
    this.report();
  }

  private report(): void {
    const done = this.finished + this.inFile;
    const now = performance.now();
    if (done < this.total && now - this.reported < PROGRESS_INTERVAL_MILLISECONDS) {
      return;
    }
    this.reported = now;
    this.onProgress?.(done, this.total);
  }
}

/**
 * Reads every target from one file.
 * @throws C3Error('model') for the reasons of readWeights
 */
export async function readTensors(
  path: string,
  targets: readonly TensorTarget[],
  ignored: (name: string) => boolean = () => false,
  onPart?: OnPart,
): Promise<void> {
  await SafetensorsFile.reading(path, async (file) => {
    const known = new Set(targets.map(({ name }) => name));
    for (const target of targets) {
      await file.read(target, onPart);
    }
    const surplus = [...file.tensors.keys()].find((name) => !known.has(name) && !ignored(name) && !DERIVED.test(name));
    if (surplus !== undefined) {
      throw unexpectedTensorError(path, surplus);
    }
  });
}

/** An unknown tensor is an error: the result without it would not be the result of the model. */
const unexpectedTensorError = (path: string, name: string): C3Error =>
  new C3Error(
    'model',
    `${path}: tensor ${shown(name)} has no place in the architecture that config.json describes; the weights do not belong to it.`,
  );

/** The message of a parser on one short line, because it may quote the text. */
const oneLine = (error: unknown): string => toErrorMessage(error).replace(/\s+/g, ' ').slice(0, 200);

const shown = (text: string): string => JSON.stringify(text).slice(1, -1).slice(0, 100);

async function readFileSize(path: string): Promise<number | null> {
  return stat(path).then(
    ({ size }) => size,
    () => null,
  );
}

async function readIndex(path: string): Promise<Readonly<Record<string, string>>> {
  const wrong = (what: string): C3Error =>
    new C3Error('model', `${path} ${what}; copy the weights again from their source.`);
  if (((await readFileSize(path)) ?? 0) > MAX_INDEX_BYTES) {
    throw wrong('is too long for an index');
  }
  const bytes = await readModelFile(path, MAX_INDEX_BYTES, 'copy the weights again from their source');
  let json: unknown;
  try {
    json = JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw wrong(`cannot be read (${oneLine(error)})`);
  }
  const parsed = indexSchema.safeParse(json);
  if (!parsed.success) {
    throw wrong('has no weight_map from tensors to files');
  }
  if (new Set(Object.values(parsed.data.weight_map)).size > MAX_SHARDS) {
    throw wrong(`names more than ${MAX_SHARDS} files`);
  }
  return parsed.data.weight_map;
}

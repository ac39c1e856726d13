/** Writes checkpoints of random bfloat16 weights of any size, in shards like published ones. */

import { mkdir, open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { INDEX_FILE, WEIGHTS_FILE } from '../files/huggingFaceWeights.ts';
import { ELEMENT_BYTES, HEADER_LENGTH_BYTES } from '../files/safetensors.ts';
import { streamKey } from '../random.ts';
import { CONFIG_FILE, configToJson } from './huggingFaceConfig.ts';
import { parameterViews, type ParameterView } from './model.ts';
import type { TransformerConfig } from './transformer.ts';

/** Largest bytes of the tensors in one file, except for a single larger tensor. */
export const SHARD_BYTES = 2e9;

/** Bound of the uniform weights, which have GPT-2's deviation of 0.02. */
const REACH = 0.02 * Math.sqrt(3);
/** Number of different weights, symmetric about 0. */
const VALUES = 2048;
const ONE = 0x3f80;
/** Elements that are drawn and written together. */
const PIECE = 1024 * 1024;
const ELEMENT = ELEMENT_BYTES.BF16;

/** Returns the bytes of the tensors of such a checkpoint. */
export const storedBytes = (config: TransformerConfig): number => sumTensorBytes(parameterViews(config));

export interface RandomModelSettings {
  readonly seed: number;
  readonly shardBytes?: number;
  /** Called between pieces. An error thrown here ends the writing. */
  readonly onPiece?: (bytesDone: number, bytesTotal: number) => void;
}

/**
 * Writes a folder that loadModel reads: config.json and model.safetensors, or its shards with their
 * index. Matrices are uniform with deviation 0.02, norms 1, biases 0. Every tensor has a stream of its
 * own, so the values depend neither on the order nor on the shards.
 */
export async function writeRandomModel(
  folder: string,
  config: TransformerConfig,
  { seed, shardBytes = SHARD_BYTES, onPiece = () => undefined }: RandomModelSettings,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, CONFIG_FILE), `${JSON.stringify(configToJson(config), null, 2)}\n`);
  const views = parameterViews(config);
  const shards = divideIntoShards(views, shardBytes);
  const total = sumTensorBytes(views);
  const names = shards.map((_, shard) =>
    shards.length === 1
      ? WEIGHTS_FILE
      : `model-${padShardNumber(shard + 1)}-of-${padShardNumber(shards.length)}.safetensors`,
  );
  let done = 0;
  for (const [shard, members] of shards.entries()) {
    await writeShard(join(folder, names[shard] ?? ''), members, seed, (bytes) => {
      done += bytes;
      onPiece(done, total);
    });
  }
  if (shards.length === 1) {
    return;
  }
  const places = shards.flatMap((members, shard) => members.map(({ name }) => [name, names[shard]] as const));
  await writeFile(
    join(folder, INDEX_FILE),
    `${JSON.stringify({ metadata: { total_size: total }, weight_map: Object.fromEntries(places) }, null, 2)}\n`,
  );
}

const sumTensorBytes = (views: readonly ParameterView[]): number =>
  views.reduce((bytes, { length }) => bytes + length * ELEMENT, 0);
const padShardNumber = (number: number): string => String(number).padStart(5, '0');

/** Divides the tensors, in order, among files that are as full as possible. */
function divideIntoShards(views: readonly ParameterView[], limit: number): readonly (readonly ParameterView[])[] {
  const shards: ParameterView[][] = [];
  let room = 0;
  for (const view of views) {
    const bytes = view.length * ELEMENT;
    if (shards.length === 0 || bytes > room) {
      shards.push([]);
      room = limit;
    }
    room -= bytes;
    shards.at(-1)?.push(view);
  }
  return shards;
}

async function writeShard(
  path: string,
  members: readonly ParameterView[],
  seed: number,
  onPiece: (bytes: number) => void,
): Promise<void> {
  const file = await open(path, 'w');
  try {
    await file.write(buildShardHeader(members));
    const piece = new Uint16Array(PIECE);
    for (const { name, length } of members) {
      const draw = makeWeightFiller(name, seed);
      for (let from = 0; from < length; from += PIECE) {
        const part = piece.subarray(0, Math.min(PIECE, length - from));
        draw(part, from);
        await writeAll(file, new Uint8Array(part.buffer, 0, part.byteLength));
        onPiece(part.byteLength);
      }
    }
  } finally {
    await file.close();
  }
}

async function writeAll(file: Awaited<ReturnType<typeof open>>, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    done += (await file.write(bytes, done)).bytesWritten;
  }
}

function buildShardHeader(members: readonly ParameterView[]): Uint8Array {
  let offset = 0;
  const entries = members.map(({ name, shape, length }) => {
    const start = offset;
    offset += length * ELEMENT;
    return [name, { dtype: 'BF16', shape, data_offsets: [start, offset] }] as const;
  });
  const json = JSON.stringify({ __metadata__: { format: 'pt' }, ...Object.fromEntries(entries) });
  const header = Buffer.alloc(HEADER_LENGTH_BYTES + Math.ceil(Buffer.byteLength(json) / 8) * 8, ' ');
  header.writeBigUInt64LE(BigInt(header.length - HEADER_LENGTH_BYTES));
  header.write(json, HEADER_LENGTH_BYTES);
  return header;
}

/** Returns a function that fills a part of a tensor from element `from` on, an even number. */
function makeWeightFiller(name: string, seed: number): (part: Uint16Array, from: number) => void {
  if (name.endsWith('norm.weight')) {
    return (part) => part.fill(ONE);
  }
  if (name.endsWith('.bias')) {
    return (part) => part.fill(0);
  }
  const key = streamKey({ seed, scope: 'initial', uidSha: name, role: '', turn: 0, sibling: 0 });
  const [first, second] = [Number.parseInt(key.slice(0, 8), 16), Number.parseInt(key.slice(8, 16), 16)];
  const values = valueTable();
  return (part, from) => {
    for (let index = 0; index < part.length; index += 2) {
      const bits = mixBits(mixBits(((from + index) >>> 1) ^ first) ^ second);
      part[index] = values[bits & (VALUES - 1)] ?? 0;
      if (index + 1 < part.length) {
        part[index + 1] = values[bits >>> 21] ?? 0;
      }
    }
  };
}

/**
 * Mixes the 32 bits of a counter, one to one (the finalizer of MurmurHash3). It is much faster than
 * Philox, and weights that are only timed need no better numbers.
 */
function mixBits(counter: number): number {
  let bits = counter;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}

/** Returns evenly spaced weights as bfloat16, rounded toward 0. */
function valueTable(): Uint16Array {
  const floats = Float32Array.from({ length: VALUES }, (_, index) => ((2 * index + 1) / VALUES - 1) * REACH);
  return Uint16Array.from(new Uint32Array(floats.buffer), (bits) => bits >>> 16);
}

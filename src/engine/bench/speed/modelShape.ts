/**
 * The model that the suite model measures: a published size's config.json, and whether this machine has room for it.
 */
import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { readRegular } from '../../../files/regularFile.ts';
import { CONFIG_FILE, parseConfig } from '../../../runtime/model/huggingFaceConfig.ts';
import { parameterCount } from '../../../runtime/model/model.ts';
import { storedBytes } from '../../../runtime/model/randomModel.ts';
import type { TransformerConfig } from '../../../runtime/model/transformer.ts';
import { C3Error } from '../../../shared/errors.ts';

/** What shapes it of the config.json of Qwen2.5-0.5B-Instruct, as published. */
const QWEN = {
  architectures: ['Qwen2ForCausalLM'],
  hidden_act: 'silu',
  hidden_size: 896,
  intermediate_size: 4864,
  max_position_embeddings: 32768,
  model_type: 'qwen2',
  num_attention_heads: 14,
  num_hidden_layers: 24,
  num_key_value_heads: 2,
  rms_norm_eps: 1e-6,
  rope_theta: 1000000,
  tie_word_embeddings: true,
  torch_dtype: 'bfloat16',
  use_sliding_window: false,
  vocab_size: 151936,
};
/** The same layers, fewer of them, over a smaller vocabulary. */
const QUICK = { ...QWEN, num_hidden_layers: 4, vocab_size: 32000 };

/** What runs needs the weights as float32, and about so many times that in all. */
const MEMORY_FACTOR = 1.3;

const MAX_CONFIG_BYTES = 1 << 20;

export interface MeasuredModel {
  /** As people may call it. */
  readonly name: string;
  readonly config: TransformerConfig;
}

/**
 * The shape to measure.
 * @param path a config.json or a folder that holds one, relative to `folder`; null for the built-in one
 * @throws C3Error('input') when it cannot be read; C3Error('model') naming what of it is not supported
 */
export async function readShape(path: string | null, quick: boolean, folder: string): Promise<MeasuredModel> {
  if (path === null) {
    const name = quick ? 'a smaller Qwen2.5' : 'Qwen2.5-0.5B-Instruct';
    return {
      name,
      config: parseConfig(Buffer.from(JSON.stringify(quick ? QUICK : QWEN)), `the built-in ${CONFIG_FILE}`),
    };
  }
  const file = resolve(folder, path);
  return {
    name: file,
    config: parseConfig(await readRegular(file, MAX_CONFIG_BYTES, `give --config a model's ${CONFIG_FILE}`), file),
  };
}

/** Free bytes of memory, and of the disk that temporary files lie on. */
export interface Room {
  readonly memory: number;
  readonly disk: number;
}

export async function freeRoom(): Promise<Room> {
  const { bavail, bsize } = await statfs(tmpdir());
  return { memory: process.availableMemory(), disk: bavail * bsize };
}

/** @throws C3Error('input') where a model has no room; nothing has been written by then */
export function checkRoom({ name, config }: MeasuredModel, room: Room): void {
  const parameters = parameterCount(config);
  const gigabytes = (bytes: number): string => `${(bytes / 1e9).toPrecision(3)} GB`;
  const memory = 4 * parameters * MEMORY_FACTOR;
  const size = `${name} has ${(parameters / 1e6).toFixed(0)} million parameters`;
  if (memory > room.memory) {
    throw new C3Error(
      'input',
      `${size} and needs about ${gigabytes(memory)} of memory where ${gigabytes(room.memory)} are free; give --config a smaller model.`,
    );
  }
  const disk = storedBytes(config);
  if (disk > room.disk) {
    throw new C3Error(
      'input',
      `${size}, whose files need ${gigabytes(disk)} in ${tmpdir()} where ${gigabytes(room.disk)} are free; free space, or give --config a smaller model.`,
    );
  }
}

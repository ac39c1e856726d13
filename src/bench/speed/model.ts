/**
 * `c3 bench model`: measures a random checkpoint of a published size. Loading is compared with only
 * reading the files, prefill with the bare weight products, decoding with the memory bandwidth, and
 * the largest resident set with the size of the weights.
 */

import { rmSync } from 'node:fs';
import { open, readdir, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { probeProvider } from '../../engine/machine/probing.ts';
import { readRegular } from '../../files/regularFile.ts';
import { createTemporaryFolder } from '../../files/temporaryFolder.ts';
import { checkRequest, Generator, type GenerationRequest } from '../../runtime/generate/generate.ts';
import { DeviceWeights } from '../../runtime/model/deviceWeights.ts';
import { CONFIG_FILE, parseConfig } from '../../runtime/model/huggingFaceConfig.ts';
import { loadModel, type ModelWithParameters, parameterCount } from '../../runtime/model/model.ts';
import { SHARD_BYTES, writeRandomModel, storedBytes } from '../../runtime/model/randomModel.ts';
import type { TransformerConfig } from '../../runtime/model/transformer.ts';
import { resolveDevice } from '../../runtime/provider/device.ts';
import { BareProducts, countOperations, listWeightProducts } from '../../runtime/provider/products.ts';
import type { DeviceSettings } from '../../runtime/session/session.ts';
import { DEFAULT_PROVIDER, findTraits } from '../../shared/devices.ts';
import { CancelledError, C3Error } from '../../shared/errors.ts';
import {
  makeFigure,
  describeHardware,
  rateOfDifference,
  toShareOfCeiling,
  type BenchFigure,
  type BenchOptions,
  type BenchReport,
  type ModelBenchOptions,
} from '../report.ts';
import { measureMedianSeconds } from '../turns.ts';
import { DEVICE, makeGenerationRequests } from './shape.ts';

const BATCHES = [1, 8, 32] as const;
const PROMPT = 64;
const NEW = 16;
const ROUNDS = { full: 3, quick: 2 } as const;
/** A matrix product of one row uses another kernel, so the graphs always use at least two rows. */
const LEAST_ROWS = 2;
const FLOAT = 4;
const READ_PIECE = 1024 * 1024;

/** Limits that tests replace. */
export interface ModelBenchLimits {
  readonly room: Room;
  readonly shardBytes: number;
}

/**
 * Measures a model.
 * @throws CancelledError; C3Error. A model that is too large for this machine is refused before
 * anything is written.
 */
export async function benchModel(options: ModelBenchOptions): Promise<BenchReport> {
  return benchModelWithin(options, { room: await measureFreeRoom(), shardBytes: SHARD_BYTES });
}

export async function benchModelWithin(
  options: ModelBenchOptions,
  { room, shardBytes }: ModelBenchLimits,
): Promise<BenchReport> {
  const model = await readShape(options.config, options.quick, options.folder);
  checkRequest(model.config, { prompt: new Int32Array(PROMPT), maxNewTokens: NEW }, model.name);
  checkRoom(model, room);
  const { settings: device, remark } = await resolveDevice(
    options.device ?? DEFAULT_PROVIDER,
    DEVICE.threads,
    probeProvider,
  );
  if (remark !== null) {
    options.note(remark);
  }
  const { loaded, figures } = await measureLoading(model, shardBytes, options);
  const { provider = DEFAULT_PROVIDER, name, threads } = device;
  const { accelerator } = findTraits(device);
  const hardware = describeHardware(
    `${provider} provider${!accelerator || name === undefined ? '' : ` on ${name}`}`,
    `${threads} threads`,
    `random weights shaped as ${model.name}`,
  );
  return { suite: 'model', figures: [...figures, ...(await measureWork(loaded, device, options))], hardware };
}

/** Writes the checkpoint, loads it, and always removes its folder. */
async function measureLoading(
  { name, config }: MeasuredModel,
  shardBytes: number,
  { signal, note }: BenchOptions,
): Promise<{ loaded: ModelWithParameters; figures: BenchFigure[] }> {
  const stopIfCancelled = (): void => {
    if (signal.aborted) {
      throw new CancelledError();
    }
  };
  const home = createTemporaryFolder('bench-model');
  const remove = (): void => rmSync(home, { recursive: true, force: true });
  // A second Ctrl-C ends the process at once.
  process.on('exit', remove);
  try {
    await writeRandomModel(home, config, { seed: 1, shardBytes, onPiece: stopIfCancelled });
    note(`a random checkpoint shaped as ${name} is written`);
    const read = await timed(() => readFiles(home, stopIfCancelled));
    const loading = await timed(() => loadModel(home, { precision: 'float32', signal }));
    note(`${loading.result.parameters.length} parameters loaded`);
    const rate = (seconds: number): number => read.result / 1e9 / seconds;
    return {
      loaded: loading.result,
      figures: [
        makeFigure('loading, weights named by their hash', loading.seconds, 's', {
          ceiling: read.seconds,
          ratio: read.seconds / loading.seconds,
        }),
        makeFigure('loading, bytes of the files (ceiling: reading them alone)', rate(loading.seconds), 'GB/s', {
          ceiling: rate(read.seconds),
          ratio: read.seconds / loading.seconds,
        }),
      ],
    };
  } finally {
    remove();
    process.off('exit', remove);
  }
}

/** Reads every file of a folder and discards the content. @returns the number of bytes read */
async function readFiles(folder: string, onPiece: () => void): Promise<number> {
  const piece = new Uint8Array(READ_PIECE);
  let total = 0;
  for (const name of await readdir(folder)) {
    const file = await open(join(folder, name));
    try {
      for (let read = 1; read > 0; total += read) {
        ({ bytesRead: read } = await file.read(piece, 0, piece.length));
        onPiece();
      }
    } finally {
      await file.close();
    }
  }
  return total;
}

/** The parts that the measurement of one batch needs. */
interface Bench {
  readonly generator: Generator;
  readonly bare: BareProducts;
  readonly model: ModelWithParameters;
  readonly rounds: number;
  readonly options: BenchOptions;
}

async function measureWork(
  model: ModelWithParameters,
  device: DeviceSettings,
  options: BenchOptions,
): Promise<BenchFigure[]> {
  const { config, parameters } = model;
  const onDevice = findTraits(device).accelerator;
  const weights = onDevice ? new DeviceWeights(config, device) : undefined;
  const compiling = await timed(() => Generator.create(config, device, weights));
  const generator = compiling.result;
  try {
    // Measured before anything allocates memory that a run does not need.
    for (const batch of BATCHES) {
      await generator.generate(parameters, makeBatchRequests(config, batch, batch, NEW), options);
    }
    const peak = process.resourceUsage().maxRSS * 1024;
    options.note('every batch generated once');
    const bare = await BareProducts.create(config, parameters, device, 'forward', weights);
    try {
      const measured: Measured[] = [];
      for (const batch of BATCHES) {
        measured.push(
          await measureBatch(
            { generator, bare, model, rounds: options.quick ? ROUNDS.quick : ROUNDS.full, options },
            batch,
          ),
        );
      }
      // The fastest reading is the least disturbed one, so it gives the bandwidth.
      const reading = Math.min(...measured.map(({ seconds }) => seconds.reading));
      const bandwidth = countWeightBytes(config) / reading;
      return [
        makeFigure('graphs compiled', compiling.seconds, 's'),
        makeFigure('memory bandwidth, weights read by one-row products', bandwidth / 1e9, 'GB/s'),
        ...measured.flatMap((one) => makeBatchFigures(one, config, bandwidth)),
        makeFigure('largest resident set (ceiling: the weights alone)', peak / 1e6, 'MB', {
          ceiling: (FLOAT * parameters.length) / 1e6,
          ratio: (FLOAT * parameters.length) / peak,
        }),
      ];
    } finally {
      await bare.release();
    }
  } finally {
    await generator.release();
    await weights?.release();
  }
}

type Side = 'prefill' | 'bareprefill' | 'first' | 'whole' | 'bareStep' | 'reading';

interface Measured {
  readonly batch: number;
  readonly seconds: Readonly<Record<Side, number>>;
}

/**
 * Measures one batch. Prompts are distinct for the prefill. Decoding uses one shared prompt, which
 * costs less and decodes at the same rate.
 */
async function measureBatch(
  { generator, bare, model: { config, parameters }, rounds, options }: Bench,
  batch: number,
): Promise<Measured> {
  const generate = (prompts: number, newTokens: number) => async (): Promise<unknown> =>
    generator.generate(parameters, makeBatchRequests(config, batch, prompts, newTokens), options);
  const rows = Math.max(LEAST_ROWS, batch);
  const seconds = await measureMedianSeconds<Side>(
    {
      prefill: generate(batch, 1),
      bareprefill: () => bare.run(batch * PROMPT, rows),
      first: generate(1, 1),
      whole: generate(1, NEW),
      bareStep: () => bare.run(rows, rows),
      reading: () => bare.run(1, 1),
    },
    rounds,
    options,
  );
  options.note(`batch ${batch} measured`);
  return { batch, seconds };
}

function makeBatchFigures({ batch, seconds }: Measured, config: TransformerConfig, bandwidth: number): BenchFigure[] {
  const name = `batch ${batch}`;
  const prefill = (batch * PROMPT) / seconds.prefill;
  const bareprefill = (batch * PROMPT) / seconds.bareprefill;
  const decoding = rateOfDifference(batch * (NEW - 1), seconds.whole, seconds.first);
  const products = batch / seconds.bareStep;
  const limit = (batch * bandwidth) / (countWeightBytes(config) + batch * countCacheBytes(config));
  const productsLimit = (batch * bandwidth) / countWeightBytes(config);
  return [
    makeFigure(`${name}, prefill (ceiling: bare products)`, prefill, 'tokens/s', {
      ceiling: bareprefill,
      ratio: prefill / bareprefill,
    }),
    makeFigure(`${name}, decoding (ceiling: memory bandwidth)`, decoding, 'tokens/s', {
      ceiling: limit,
      ratio: toShareOfCeiling(decoding, limit),
    }),
    makeFigure(`${name}, bare products of decoding (ceiling: memory bandwidth)`, products, 'tokens/s', {
      ceiling: productsLimit,
      ratio: products / productsLimit,
    }),
  ];
}

const makeBatchRequests = (
  config: TransformerConfig,
  batch: number,
  prompts: number,
  newTokens: number,
): GenerationRequest[] =>
  makeGenerationRequests(config, { prompts, completions: batch / prompts, promptLength: PROMPT, newTokens });

/** Returns the bytes of weights that a step multiplies with. Each weight takes two operations. */
export const countWeightBytes = (config: TransformerConfig): number =>
  (FLOAT * countOperations(listWeightProducts(config, 'forward'), 1, 1)) / 2;

/** Returns the mean bytes of keys and values that a step reads for one row. */
const countCacheBytes = ({ layers, keyValueHeads, headDim }: TransformerConfig): number =>
  FLOAT * 2 * layers * keyValueHeads * headDim * (PROMPT + NEW / 2);

async function timed<Result>(
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly seconds: number }> {
  const started = performance.now();
  const result = await work();
  return { result, seconds: (performance.now() - started) / 1000 };
}

// The shape of the measured model.

/** The fields of the published config.json of Qwen2.5-0.5B-Instruct that define its shape. */
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
/** A smaller model with fewer of the same layers and a smaller vocabulary. */
const QUICK = { ...QWEN, num_hidden_layers: 4, vocab_size: 32000 };

/** Memory that a measurement needs, relative to the weights as float32. */
const MEMORY_FACTOR = 1.3;

const MAX_CONFIG_BYTES = 1 << 20;

interface MeasuredModel {
  /** Name for reports and errors. */
  readonly name: string;
  readonly config: TransformerConfig;
}

/**
 * Reads the shape to measure.
 * @param path a config.json, relative to `folder`, or null for the built-in one
 * @throws C3Error('input') if it cannot be read; C3Error('model') that names the unsupported part
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

/** Free bytes of this machine. */
interface Room {
  readonly memory: number;
  /** Free bytes of the disk with the temporary files. */
  readonly disk: number;
}

async function measureFreeRoom(): Promise<Room> {
  const { bavail, bsize } = await statfs(tmpdir());
  return { memory: process.availableMemory(), disk: bavail * bsize };
}

/** @throws C3Error('input') if the memory or the disk is too small for the model */
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

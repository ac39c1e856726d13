/**
 * `c3 bench model`: a random checkpoint of a published size, loaded and decoded: loading against reading its files
 * alone, prefill against the bare weight products, decoding against what memory gives, and the memory that all of it
 * takes.
 */
import { rmSync } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '../../../files/temporaryFolder.ts';
import { checkRequest, Generator, type GenerationRequest } from '../../../runtime/generate/generate.ts';
import { DeviceWeights } from '../../../runtime/model/deviceWeights.ts';
import { loadModel, type LoadedModel } from '../../../runtime/model/model.ts';
import { SHARD_BYTES, writeRandomModel } from '../../../runtime/model/randomModel.ts';
import type { TransformerConfig } from '../../../runtime/model/transformer.ts';
import { resolveDevice } from '../../../runtime/provider/device.ts';
import { BareProducts, operations, weightProducts } from '../../../runtime/provider/products.ts';
import type { DeviceSettings } from '../../../runtime/session/session.ts';
import { DEFAULT_PROVIDER, traitsOf } from '../../../shared/devices.ts';
import { CancelledError } from '../../../shared/errors.ts';
import { probeProvider } from '../../machine/probing.ts';
import {
  figure,
  hardwareName,
  rateBetween,
  shareOf,
  type BenchFigure,
  type BenchOptions,
  type BenchReport,
  type ModelBenchOptions,
} from '../report.ts';
import { medianSeconds } from '../turns.ts';
import { checkRoom, freeRoom, readShape, type MeasuredModel, type Room } from './modelShape.ts';
import { DEVICE, generationRequests } from './shape.ts';

const BATCHES = [1, 8, 32] as const;
const PROMPT = 64;
const NEW = 16;
const ROUNDS = { full: 3, quick: 2 } as const;
/** A matrix product of one row takes another kernel: the graphs always ask for two. */
const LEAST_ROWS = 2;
const FLOAT = 4;
const READ_PIECE = 1024 * 1024;

/** What tests set otherwise. */
export interface ModelBenchLimits {
  readonly room: Room;
  readonly shardBytes: number;
}

/**
 * Measures a model.
 * @throws CancelledError; C3Error, before anything is written where it is too large for this machine
 */
export async function benchModel(options: ModelBenchOptions): Promise<BenchReport> {
  return benchModelWithin(options, { room: await freeRoom(), shardBytes: SHARD_BYTES });
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
  const { accelerator } = traitsOf(device);
  const hardware = hardwareName(
    `${provider} provider${!accelerator || name === undefined ? '' : ` on ${name}`}`,
    `${threads} threads`,
    `random weights shaped as ${model.name}`,
  );
  return { suite: 'model', figures: [...figures, ...(await measureWork(loaded, device, options))], hardware };
}

/** Writes the checkpoint and loads it; its folder is gone afterwards, whatever happens. */
async function measureLoading(
  { name, config }: MeasuredModel,
  shardBytes: number,
  { signal, note }: BenchOptions,
): Promise<{ loaded: LoadedModel; figures: BenchFigure[] }> {
  const stopIfCancelled = (): void => {
    if (signal.aborted) {
      throw new CancelledError();
    }
  };
  const home = temporaryFolder('bench-model');
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
        figure('loading, weights named by their hash', loading.seconds, 's', {
          ceiling: read.seconds,
          ratio: read.seconds / loading.seconds,
        }),
        figure('loading, bytes of the files (ceiling: reading them alone)', rate(loading.seconds), 'GB/s', {
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

/** Reads every file of a folder and forgets it. @returns their bytes */
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

/** What one batch is measured with. */
interface Bench {
  readonly generator: Generator;
  readonly bare: BareProducts;
  readonly model: LoadedModel;
  readonly rounds: number;
  readonly options: BenchOptions;
}

async function measureWork(model: LoadedModel, device: DeviceSettings, options: BenchOptions): Promise<BenchFigure[]> {
  const { config, parameters } = model;
  const onDevice = traitsOf(device).accelerator;
  const weights = onDevice ? new DeviceWeights(config, device) : undefined;
  const compiling = await timed(() => Generator.create(config, device, weights));
  const generator = compiling.result;
  try {
    // Before anything else takes memory that a run does not.
    for (const batch of BATCHES) {
      await generator.generate(parameters, requests(config, batch, batch, NEW), options);
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
      // The least disturbed one says what memory gives.
      const reading = Math.min(...measured.map(({ seconds }) => seconds.reading));
      const bandwidth = weightBytes(config) / reading;
      return [
        figure('graphs compiled', compiling.seconds, 's'),
        figure('memory bandwidth, weights read by one-row products', bandwidth / 1e9, 'GB/s'),
        ...measured.flatMap((one) => batchFigures(one, config, bandwidth)),
        figure('largest resident set (ceiling: the weights alone)', peak / 1e6, 'MB', {
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
 * Prompts are distinct where prefill is measured, and one and the same where decoding is: that costs less and decodes
 * alike.
 */
async function measureBatch(
  { generator, bare, model: { config, parameters }, rounds, options }: Bench,
  batch: number,
): Promise<Measured> {
  const generate = (prompts: number, newTokens: number) => async (): Promise<unknown> =>
    generator.generate(parameters, requests(config, batch, prompts, newTokens), options);
  const rows = Math.max(LEAST_ROWS, batch);
  const seconds = await medianSeconds<Side>(
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

function batchFigures({ batch, seconds }: Measured, config: TransformerConfig, bandwidth: number): BenchFigure[] {
  const name = `batch ${batch}`;
  const prefill = (batch * PROMPT) / seconds.prefill;
  const bareprefill = (batch * PROMPT) / seconds.bareprefill;
  const decoding = rateBetween(batch * (NEW - 1), seconds.whole, seconds.first);
  const products = batch / seconds.bareStep;
  const limit = (batch * bandwidth) / (weightBytes(config) + batch * cacheBytes(config));
  const productsLimit = (batch * bandwidth) / weightBytes(config);
  return [
    figure(`${name}, prefill (ceiling: bare products)`, prefill, 'tokens/s', {
      ceiling: bareprefill,
      ratio: prefill / bareprefill,
    }),
    figure(`${name}, decoding (ceiling: memory bandwidth)`, decoding, 'tokens/s', {
      ceiling: limit,
      ratio: shareOf(decoding, limit),
    }),
    figure(`${name}, bare products of decoding (ceiling: memory bandwidth)`, products, 'tokens/s', {
      ceiling: productsLimit,
      ratio: products / productsLimit,
    }),
  ];
}

const requests = (config: TransformerConfig, batch: number, prompts: number, newTokens: number): GenerationRequest[] =>
  generationRequests(config, { prompts, completions: batch / prompts, promptLength: PROMPT, newTokens });

/** Bytes of weights that a step multiplies with: two operations for each. */
export const weightBytes = (config: TransformerConfig): number =>
  (FLOAT * operations(weightProducts(config, 'forward'), 1, 1)) / 2;

/** Bytes of keys and values that a step reads for one row, on average. */
const cacheBytes = ({ layers, keyValueHeads, headDim }: TransformerConfig): number =>
  FLOAT * 2 * layers * keyValueHeads * headDim * (PROMPT + NEW / 2);

async function timed<Result>(
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly seconds: number }> {
  const started = performance.now();
  const result = await work();
  return { result, seconds: (performance.now() - started) / 1000 };
}

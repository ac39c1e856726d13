/**
 * `c3 bench generation`: tokens per second of whole calls and of their decoding steps, compared
 * with the bare weight products of the same steps and with Transformers, and the share of prompt
 * tokens that a batch of replays does not compute again.
 */

import { Generator, type Completion } from '../../runtime/generate/generate.ts';
import { initialParameters } from '../../runtime/model/model.ts';
import { BareProducts } from '../../runtime/provider/products.ts';
import { CancelledError } from '../../shared/errors.ts';
import {
  makeFigure,
  describeHardware,
  rateOfDifference,
  toShareOfCeiling,
  type BenchFigure,
  type BenchOptions,
  type BenchReport,
} from '../report.ts';
import { measureMedianSeconds } from '../turns.ts';
import { measurePeer, toPeerFields, type Peer } from './peer.ts';
import { DEVICE, makeGenerationRequests, SHAPE, type GenerationWork } from './shape.ts';

const FULL = { batches: [16, 64, 256], rounds: 7, peerRounds: 3 } as const;
const QUICK = { batches: [16, 64], rounds: 3, peerRounds: 1 } as const;
const PROMPT = 64;
const NEW = 64;
/** A matrix product of one row uses another kernel, so the graphs always use at least two rows. */
const LEAST_ROWS = 2;
/** Maximum number of positions in one bare product. */
const MOST_ROWS = 4096;
/** 8 alternatives x 4 replays of one context. */
const REPLAYS: GenerationWork = { prompts: 1, completions: 8 * 4, promptLength: 256, newTokens: 16 };

/** The parts that the measurement of one call needs. */
interface Bench {
  readonly generator: Generator;
  readonly parameters: Float32Array;
  readonly bare: BareProducts;
  readonly peer: Peer | null;
  readonly rounds: number;
  readonly options: BenchOptions;
}

/** @throws CancelledError; C3Error('model') if the runtime refuses a graph */
export async function benchGeneration(options: BenchOptions): Promise<BenchReport> {
  const { batches, rounds, peerRounds } = options.quick ? QUICK : FULL;
  const measured = await measurePeer(
    {
      suite: 'generation',
      shape: SHAPE,
      threads: DEVICE.threads,
      rounds: peerRounds,
      batches,
      prompt: PROMPT,
      new: NEW,
    },
    options,
  );
  const parameters = initialParameters(SHAPE, 1);
  const generator = await Generator.create(SHAPE, DEVICE);
  const bare = await BareProducts.create(SHAPE, parameters, DEVICE, 'forward');
  try {
    const bench = { generator, parameters, bare, peer: measured.peer, rounds, options };
    const figures: BenchFigure[] = [];
    for (const batch of batches) {
      for (const shared of [false, true]) {
        figures.push(...(await measureBatchOfPrompts(bench, batch, shared)));
      }
    }
    figures.push(await measureReuse(bench));
    return {
      suite: 'generation',
      figures,
      hardware: describeHardware('CPU provider', `${DEVICE.threads} threads`),
      ...toPeerFields(measured),
    };
  } finally {
    await generator.release();
    await bare.release();
  }
}

/** Measures one batch of distinct prompts, or of one shared prompt. */
async function measureBatchOfPrompts(
  { generator, parameters, bare, peer, rounds, options }: Bench,
  batch: number,
  shared: boolean,
): Promise<BenchFigure[]> {
  const prompts = shared ? 1 : batch;
  const work = { prompts, completions: batch / prompts, promptLength: PROMPT };
  const control = { signal: options.signal };
  const [whole, first] = [NEW, 1].map((newTokens) => makeGenerationRequests(SHAPE, { ...work, newTokens }));
  if (whole === undefined || first === undefined) {
    throw new Error('Two lists of requests were asked for.');
  }
  const seconds = await measureMedianSeconds(
    {
      whole: () => generator.generate(parameters, whole, control),
      // The prefill yields the first token. The remaining tokens are the decoding steps.
      first: () => generator.generate(parameters, first, control),
      barePrefill: () => multiplyPrompts(bare, prompts),
      bareSteps: () => multiplySteps(bare, batch, options.signal),
    },
    rounds,
    options,
  );
  const name = `batch ${batch}, ${shared ? 'one shared prompt' : 'distinct prompts'}`;
  options.note(`${name} measured`);
  const rate = (batch * NEW) / seconds.whole;
  const ceiling = (batch * NEW) / (seconds.barePrefill + seconds.bareSteps);
  const decoding = rateOfDifference(batch * (NEW - 1), seconds.whole, seconds.first);
  const decodingCeiling = (batch * (NEW - 1)) / seconds.bareSteps;
  const peerSeconds = peer?.seconds[`${shared ? 'shared' : 'distinct'} ${batch}`];
  const beside =
    peerSeconds === undefined
      ? {}
      : { peer: (batch * NEW) / peerSeconds, peerRatio: (rate * peerSeconds) / (batch * NEW) };
  return [
    makeFigure(`${name}, whole call`, rate, 'tokens/s', { ceiling, ratio: rate / ceiling, ...beside }),
    makeFigure(`${name}, decoding steps`, decoding, 'tokens/s', {
      ceiling: decodingCeiling,
      ratio: toShareOfCeiling(decoding, decodingCeiling),
    }),
  ];
}

/**
 * Runs the products of a prefill. The output projection gets only the last token of each prompt.
 */
async function multiplyPrompts(bare: BareProducts, prompts: number): Promise<void> {
  const most = MOST_ROWS / PROMPT;
  for (let done = 0; done < prompts; done += most) {
    const count = Math.min(most, prompts - done);
    await bare.run(count * PROMPT, Math.max(LEAST_ROWS, count));
  }
}

/** Runs the products of the decoding steps after a prefill. */
async function multiplySteps(bare: BareProducts, batch: number, signal: AbortSignal): Promise<void> {
  for (let step = 1; step < NEW; step++) {
    if (signal.aborted) {
      throw new CancelledError();
    }
    await bare.run(batch, batch);
  }
}

async function measureReuse({ generator, parameters, options }: Bench): Promise<BenchFigure> {
  const completions = await generator.generate(parameters, makeGenerationRequests(SHAPE, REPLAYS), {
    signal: options.signal,
  });
  const total = (part: (completion: Completion) => number): number =>
    completions.reduce((sum, completion) => sum + part(completion), 0);
  const share = total(({ reusedTokens }) => reusedTokens) / total(({ promptTokens }) => promptTokens);
  return makeFigure(
    `prompt tokens not recomputed, 8 x 4 replays of one context of ${REPLAYS.promptLength} tokens`,
    100 * share,
    '%',
  );
}

/**
 * `c3 bench replay`: the time until a replay shows its first alternative and until it is complete,
 * the share of prompt tokens that it does not compute again, the speed of verifying replays, and
 * the time that a cancel takes.
 */

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunSummary } from '../../domain/run.ts';
import { readRecipe } from '../../engine/recipe/recipe.ts';
import { EngineService } from '../../engine/service.ts';
import { createTemporaryFolder } from '../../files/temporaryFolder.ts';
import type { StoreReader } from '../../store/types.ts';
import {
  makeFigure,
  describeHardware,
  takeMedian,
  type BenchFigure,
  type BenchReport,
  type TeamBenchOptions,
} from '../report.ts';
import { measureCancels } from './cancelReplay.ts';

const FULL = { requests: 15, verified: 2048 };
const QUICK = { requests: 3, verified: 256 };
const ALTERNATIVES = 8;
const REPLAYS = 4;

/** Measures replays of a run of one step in a temporary folder. @throws CancelledError; C3Error */
export async function benchReplay(options: TeamBenchOptions): Promise<BenchReport> {
  const recipe = await readRecipe(options.config, ['steps=1', 'evaluation.instances=0'], options.folder);
  const { provider, threads } = recipe.config.device;
  const home = createTemporaryFolder('bench-replay');
  const store = join(home, 'c3.sqlite');
  const service = new EngineService(store);
  try {
    const summary = await service.run(recipe, { signal: options.signal, onProgress: () => undefined });
    options.note('the run to replay is finished');
    const figures = [
      ...(await measureRequests(service, summary, options)),
      ...(await measureVerification(service, summary, options)),
    ];
    const messages = service.reading((reader) =>
      spreadMessages(reader, summary.run, options.quick ? QUICK.requests : FULL.requests),
    );
    // The engine process that the next part starts writes this store.
    await service.close();
    figures.push(...(await measureCancels(store, messages, options)));
    return { suite: 'replay', figures, hardware: describeHardware(`${provider} provider`, `${threads} threads`) };
  } finally {
    await service.close();
    await rm(home, { recursive: true, force: true });
  }
}

async function measureRequests(
  service: EngineService,
  { run }: RunSummary,
  { quick, signal, note }: TeamBenchOptions,
): Promise<BenchFigure[]> {
  const { requests } = quick ? QUICK : FULL;
  const first: number[] = [];
  const all: number[] = [];
  const tokens = { prompt: 0, reused: 0 };
  for (const message of service.reading((store) => spreadMessages(store, run, requests))) {
    const started = performance.now();
    let shown: number | undefined;
    const { id } = await service.replay(
      { message, alternatives: ALTERNATIVES, replays: REPLAYS, text: null },
      {
        signal,
        onProgress: ({ alternatives }) => {
          if (alternatives.some(({ original }) => !original)) {
            shown ??= performance.now() - started;
          }
        },
      },
    );
    all.push(performance.now() - started);
    if (shown !== undefined) {
      first.push(shown);
    }
    const cost = service.reading((store) => countRequestTokens(store, id));
    tokens.prompt += cost.prompt;
    tokens.reused += cost.reused;
  }
  note(`${all.length} requests measured`);
  const size = `${ALTERNATIVES} alternatives x ${REPLAYS} replays`;
  return [
    makeFigure('request to first alternative stored, median', takeMedian(first), 'ms'),
    makeFigure(`request to all of ${size}, median`, takeMedian(all), 'ms'),
    makeFigure('prompt tokens not recomputed', tokens.prompt === 0 ? null : (100 * tokens.reused) / tokens.prompt, '%'),
  ];
}

/** Returns messages of the first role, spread over the training contexts of the run. */
function spreadMessages(store: StoreReader, run: string, count: number): number[] {
  const role = store.bucketsOfRun({ run, origin: 'training', offset: 0, limit: 1 })[0]?.role;
  const messages: number[] = [];
  const total = store.countBuckets({ run, origin: 'training' });
  const buckets = store
    .bucketsOfRun({ run, origin: 'training', offset: 0, limit: total })
    .filter(({ role: speaker }) => speaker === role);
  for (let index = 0; index < Math.min(count, buckets.length); index++) {
    const message = buckets[Math.floor(((index + 0.5) * buckets.length) / count)]?.alternatives[0]?.message;
    if (message !== undefined) {
      messages.push(message);
    }
  }
  return messages;
}

/**
 * Counts the prompt tokens of the messages that a request made: the alternatives except the
 * original, and the continuations of all alternatives. Messages that an equal request made do not
 * count.
 */
export function countRequestTokens(
  store: StoreReader,
  bucket: number,
): { readonly prompt: number; readonly reused: number } {
  const made = new Set(
    store.bucketView(bucket).alternatives.flatMap(({ message, original }) => (original ? [] : [message])),
  );
  for (const { alternative, leaf } of store.replaysOfBucket(bucket)) {
    const chain = store.chain(leaf).map(({ id }) => id);
    for (const id of chain.slice(chain.indexOf(alternative) + 1)) {
      made.add(id);
    }
  }
  const messages = [...made]
    .map((id) => store.fullMessage(id))
    .filter(({ promptTokens, reusedTokens }) => reusedTokens <= promptTokens);
  return {
    prompt: messages.reduce((sum, { promptTokens }) => sum + promptTokens, 0),
    reused: messages.reduce((sum, { reusedTokens }) => sum + reusedTokens, 0),
  };
}

async function measureVerification(
  service: EngineService,
  { run }: RunSummary,
  { quick, signal, note }: TeamBenchOptions,
): Promise<BenchFigure[]> {
  const { verified } = quick ? QUICK : FULL;
  const started = performance.now();
  const { checked, identical, different } = await service.verify(run, verified, { signal });
  const seconds = (performance.now() - started) / 1000;
  note(`${checked} replays verified`);
  return [
    makeFigure('replays re-executed and compared', checked === 0 ? null : checked / seconds, 'replays/s'),
    makeFigure('replays that were identical', identical, ''),
    makeFigure('replays that differed', different, ''),
  ];
}

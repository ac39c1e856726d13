/**
 * Measures whole C3 iterations of a team, compared with only the generation and training in them.
 */

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { probeProvider } from '../../engine/machine/probing.ts';
import { readRecipe } from '../../engine/recipe/recipe.ts';
import { EngineService } from '../../engine/service.ts';
import { createTemporaryFolder } from '../../files/temporaryFolder.ts';
import { Generator } from '../../runtime/generate/generate.ts';
import { loadModel } from '../../runtime/model/model.ts';
import type { TransformerConfig } from '../../runtime/model/transformer.ts';
import { resolveDevice } from '../../runtime/provider/device.ts';
import type { DeviceSettings } from '../../runtime/session/session.ts';
import { packContexts, type TrainingContext } from '../../runtime/train/graph/pack.ts';
import { MICRO_BATCH_TOKENS, Trainer } from '../../runtime/train/trainer.ts';
import type { PositionCost, StoreReader } from '../../store/types.ts';
import { makeTrainingContexts } from '../../training/advantages.ts';
import { getMethod } from '../../training/methods/methods.ts';
import { makeFigure, type BenchFigure, type TeamBenchOptions } from '../report.ts';
import { measureMedianSeconds } from '../turns.ts';
import { makeGenerationRequests, type GenerationWork } from './shape.ts';
import { makeStepWork, SLOTS_PER_STEP } from './step.ts';

const FULL = { steps: 6, rounds: 5 };
const QUICK = { steps: 2, rounds: 2 };
/** Milliseconds between two samples of the resident set. */
const MEMORY_POLL = 50;
const MEGABYTE = 1e6;

/** The measurements of a run of a few iterations. */
interface Run {
  readonly steps: number;
  /** Sampled tokens per second after the first step, which compiles the graphs. */
  readonly rate: number | null;
  readonly costs: readonly PositionCost[];
  /** Input slots of all steps, padding included. */
  readonly slots: number;
  /** Input slots that held padding. */
  readonly padding: number;
  /** Largest resident set of this process, in bytes. */
  readonly memory: number;
}

/**
 * Runs a few iterations without evaluation in a temporary folder, then predicts their rate.
 * @throws CancelledError; C3Error
 */
export async function benchIteration(options: TeamBenchOptions): Promise<BenchFigure[]> {
  const { steps, rounds } = options.quick ? QUICK : FULL;
  const recipe = await readRecipe(options.config, [`steps=${steps}`, 'evaluation.instances=0'], options.folder);
  const { config, parameters } = await loadModel(recipe.modelFolder);
  const home = createTemporaryFolder('bench-train');
  const service = new EngineService(join(home, 'c3.sqlite'));
  let run: Run;
  try {
    run = await runIterations(service, recipe, config, options);
  } finally {
    await service.close();
    await rm(home, { recursive: true, force: true });
  }
  options.note(`${run.steps} iterations run`);
  const { provider, threads } = recipe.config.device;
  const { settings } = await resolveDevice(provider, threads, probeProvider);
  const ceiling = await predictTokenRate(run, config, parameters, settings, rounds, options);
  options.note('predicted from generation and training alone');
  return [
    makeFigure('C3 iteration, sampled tokens', run.rate, 'tokens/s', {
      ceiling,
      ratio: run.rate === null ? null : run.rate / ceiling,
    }),
    makeFigure('padding of packed batches', run.slots === 0 ? null : (100 * run.padding) / run.slots, '%'),
    makeFigure('largest resident set', run.memory / MEGABYTE, 'MB'),
  ];
}

async function runIterations(
  service: EngineService,
  recipe: Parameters<EngineService['run']>[0],
  config: TransformerConfig,
  { signal }: TeamBenchOptions,
): Promise<Run> {
  const ends: number[] = [];
  let memory = 0;
  const look = (): void => {
    memory = Math.max(memory, process.memoryUsage.rss());
  };
  const timer = setInterval(look, MEMORY_POLL);
  try {
    const { run, steps } = await service.run(recipe, {
      signal,
      onProgress: ({ metrics }) => {
        look();
        if (metrics !== null) {
          ends.push(performance.now() / 1000);
        }
      },
    });
    return service.reading((store) => {
      const tokens = store.steps(run, 0, steps).map(({ ledger }) => ledger.tokens.completion);
      const seconds = (ends.at(-1) ?? 0) - (ends[0] ?? 0);
      const sampled = (tokens.at(-1) ?? 0) - (tokens[0] ?? 0);
      const batches = Array.from({ length: steps }, (_, index) =>
        packContexts(
          config,
          readLearnedContexts(store, run, index + 1, getMethod(recipe.config.method).estimator(recipe.config)),
          MICRO_BATCH_TOKENS,
          0,
        ),
      ).flat();
      const total = (part: 'slots' | 'padding'): number => batches.reduce((sum, batch) => sum + batch[part], 0);
      return {
        steps,
        rate: seconds > 0 ? sampled / seconds : null,
        costs: store.costs(run),
        slots: total('slots'),
        padding: total('padding'),
        memory,
      };
    });
  } finally {
    clearInterval(timer);
  }
}

/**
 * Returns the contexts of an iteration for packing. Only lengths matter, so prompts are left blank.
 */
function readLearnedContexts(store: StoreReader, run: string, iteration: number, estimator: string): TrainingContext[] {
  const groups = Map.groupBy(store.trainingMessages(run, iteration, estimator), ({ bucket }) => bucket);
  return makeTrainingContexts(
    [...groups.values()].map((messages) => ({
      role: messages[0]?.role ?? '',
      prompt: new Int32Array(messages[0]?.promptTokens ?? 1),
      messages,
    })),
    false,
  );
}

/**
 * Returns the sampled tokens per second of an iteration that consists only of its generation and
 * its optimizer step, each at the rate that it has alone.
 */
async function predictTokenRate(
  { steps, costs, slots }: Run,
  config: TransformerConfig,
  parameters: Float32Array,
  device: DeviceSettings,
  rounds: number,
  options: TeamBenchOptions,
): Promise<number> {
  const generator = await Generator.create(config, device);
  const trainer = new Trainer(config, device);
  try {
    const calls = costs.map((cost) => makeGenerationRequests(config, toGenerationWork(cost, steps)));
    const sides: Record<string, () => Promise<unknown>> = {
      step: makeStepWork(trainer, config, parameters, options.signal),
    };
    calls.forEach(
      (requests, call) =>
        (sides[`call ${call}`] = () => generator.generate(parameters, requests, { signal: options.signal })),
    );
    const seconds = await measureMedianSeconds(sides, rounds, options);
    const tokens = costs.reduce((total, cost) => total + cost.completionTokens, 0);
    // Lengths were rounded, so the measured seconds are scaled to the actual tokens.
    const sampling = costs.reduce((total, cost, call) => {
      const measured = calls[call]?.reduce((sum, { maxNewTokens }) => sum + maxNewTokens, 0) ?? 1;
      return total + (cost.completionTokens * (seconds[`call ${call}`] ?? 0)) / measured;
    }, 0);
    return tokens / (sampling + (slots * (seconds['step'] ?? 0)) / SLOTS_PER_STEP);
  } finally {
    await generator.release();
    await trainer.release();
  }
}

/**
 * Returns the generation work of one iteration at a position of the protocol, with all prompts and
 * completions at their mean lengths.
 */
function toGenerationWork(
  { messages, promptTokens, reusedTokens, completionTokens }: PositionCost,
  steps: number,
): GenerationWork {
  const rows = Math.max(1, Math.round(messages / steps));
  const prompts = Math.max(1, Math.round((rows * (promptTokens - reusedTokens)) / promptTokens));
  return {
    prompts,
    completions: Math.max(1, Math.round(rows / prompts)),
    promptLength: Math.max(1, Math.round(promptTokens / messages)),
    newTokens: Math.max(1, Math.round(completionTokens / messages)),
  };
}

/** Estimates how long a run will take, from similar earlier runs or from a trial on this machine. */

import { existsSync } from 'node:fs';
import type { NumericEnvironment } from '../../domain/snapshot.ts';
import { loadConfig, parameterCount } from '../../runtime/model/model.ts';
import { resolveDevice } from '../../runtime/provider/device.ts';
import { numericEnvironment } from '../../runtime/session/session.ts';
import { isDefaultRequest, findTraits } from '../../shared/devices.ts';
import { C3Error } from '../../shared/errors.ts';
import { formatEstimate, type TimeEstimate } from '../../shared/text/times.ts';
import { openStoreForReading } from '../../store/read/reader.ts';
import type { StoreReader } from '../../store/types.ts';
import { getRunSampling } from '../../training/config/config.ts';
import type { ExpectedPace, Pace } from '../../training/measure/remaining.ts';
import { methodReadsKey, listPlannedRollouts } from '../../training/methods/methods.ts';
import type { RunControl } from '../../training/runContext.ts';
import { probeProvider } from '../machine/probing.ts';
import type { LoadedModel, ModelPool } from '../models/models.ts';
import { type Recipe, parseRecipe, parseRecipeProtocol } from '../recipe/recipe.ts';
import { estimateMessageLengths, type RunInputs } from './runDemand.ts';
import {
  estimateTime,
  findMedianPace,
  computePace,
  countPlannedWork,
  type MessageSeconds,
  type PlannedWork,
} from './time/estimate.ts';
import { TRIED_PARAMETERS, tryModel, tryProducts } from './time/trial.ts';

/** The expected time of a run. */
export interface Forecast {
  /** Null if nothing was measured on this machine. */
  readonly estimate: TimeEstimate | null;
  readonly pace: ExpectedPace;
}

/** Relative times without measurements. Only the ratio of training to sampling matters. */
const UNMEASURED: MessageSeconds = { sampled: 1, trained: 1.5 };

const never = new AbortController().signal;

/** Forecasts runs of one store. Trials are remembered for a few minutes. */
export class Timing {
  private readonly storePath: string;
  private readonly models: ModelPool;
  private readonly trials = new RecentTrials();

  constructor(storePath: string, models: ModelPool) {
    this.storePath = storePath;
    this.models = models;
  }

  /**
   * Estimates the time of a planned run. Loads a small model for a short trial; stores nothing.
   * @throws C3Error('model') if the model cannot be loaded
   */
  async ofPlan(recipe: Recipe, inputs: RunInputs): Promise<TimeEstimate | null> {
    const { estimate } = await this.forecast(recipe, inputs, 0, async () => {
      if (parameterCount(await loadConfig(recipe.modelFolder)) > TRIED_PARAMETERS) {
        return null;
      }
      const snapshot = await this.models.base(recipe);
      await using model = await this.models.take(recipe, snapshot, () => Promise.resolve(null));
      return await this.trial(recipe, inputs, model, never);
    });
    return estimate;
  }

  /**
   * Reports the expected time of a run whose model is loaded.
   * @param finished number of finished steps of a resumed run
   * @returns the expected pace
   */
  async announce(
    recipe: Recipe,
    inputs: RunInputs,
    model: LoadedModel,
    finished: number,
    { signal, onProgress }: RunControl,
    onRemark: (remark: string) => void,
  ): Promise<ExpectedPace> {
    const { estimate, pace } = await this.ofRun(recipe, inputs, model, finished, signal);
    const message = `Time: ${formatEstimate(estimate)}`;
    onRemark(message);
    const remainingSeconds = estimate?.value ?? null;
    onProgress({ run: null, stage: 'load', done: 1, total: 1, metrics: null, remainingSeconds, message });
    return pace;
  }

  private ofRun(
    recipe: Recipe,
    inputs: RunInputs,
    model: LoadedModel,
    finished: number,
    signal: AbortSignal,
  ): Promise<Forecast> {
    return this.forecast(recipe, inputs, finished, async () => {
      const tried = model.info.parameters <= TRIED_PARAMETERS || !isDefaultRequest(recipe.config.device.provider);
      return tried ? this.trial(recipe, inputs, model, signal) : Promise.resolve(null);
    });
  }

  private async forecast(
    recipe: Recipe,
    inputs: RunInputs,
    finished: number,
    trial: () => Promise<MessageSeconds | null>,
  ): Promise<Forecast> {
    const { config } = recipe;
    const work = countPlannedWork(config, inputs.protocol, inputs.data, finished);
    const earlier = await this.earlier(recipe, Math.min(config.instances_per_step, inputs.data.train.length));
    const seen = findMedianPace(earlier);
    if (seen !== null) {
      return { estimate: estimateTime(work, earlier, 'earlier-runs'), pace: { ...seen, known: true } };
    }
    const key = createTrialKey(recipe);
    const known = this.trials.get(key, performance.now());
    const tried = known ?? (await trial());
    if (tried !== null) {
      if (known === null) {
        this.trials.set(key, tried, performance.now());
      }
      return toForecast(work, computePace(work, tried), 'model');
    }
    const products = await estimateProductSeconds(recipe, inputs);
    if (products !== null) {
      return toForecast(work, computePace(work, products), 'products');
    }
    return { estimate: null, pace: { ...computePace(work, UNMEASURED), known: false } };
  }

  /** Reads the paces of earlier runs. Returns none if the store does not exist or cannot be read. */
  private async earlier(recipe: Recipe, problems: number): Promise<readonly Pace[]> {
    if (!existsSync(this.storePath)) {
      return [];
    }
    const { provider, threads } = recipe.config.device;
    const { settings } = await resolveDevice(provider, threads, probeProvider);
    try {
      const store = openStoreForReading(this.storePath);
      try {
        return readEarlierPaces(store, recipe, numericEnvironment(settings), problems, recipe.config.steps > 0);
      } finally {
        store.close();
      }
    } catch (error) {
      if (error instanceof C3Error) {
        return [];
      }
      throw error;
    }
  }

  private trial(
    recipe: Recipe,
    { protocol, render, data }: RunInputs,
    { runtime, tokenizer, info }: Pick<LoadedModel, 'runtime' | 'tokenizer' | 'info'>,
    signal: AbortSignal,
  ): Promise<MessageSeconds | null> {
    const work = countPlannedWork(recipe.config, protocol, data);
    const messages = work.episodes * work.episodeMessages + work.steps * work.stepMessages;
    const problems = [...data.evaluation, ...data.train];
    const sampling = getRunSampling(recipe.config);
    const input = { runtime, tokenizer, info, protocol, render, sampling, problems, signal };
    const perEpisode = Math.max(1, work.episodeMessages);
    const evaluated = Math.min(recipe.config.evaluation.batch, data.evaluation.length);
    const together = Math.max(evaluated, work.stepMessages / perEpisode);
    return tryModel(input, messages / perEpisode, together);
  }
}

function toForecast(work: PlannedWork, pace: Pace, basis: TimeEstimate['basis']): Forecast {
  return { estimate: estimateTime(work, [pace], basis), pace: { ...pace, known: true } };
}

/** Returns a key of everything that a trial depends on. */
function createTrialKey({ config, modelFolder, protocolText }: Recipe): string {
  const { device, sampling, task, chat, prompts = {} } = config;
  return JSON.stringify([modelFolder, protocolText, prompts, device, sampling, task, chat]);
}

/** Estimates an untried model. Returns null on an accelerator, which this process does not measure. */
async function estimateProductSeconds(recipe: Recipe, inputs: RunInputs): Promise<MessageSeconds | null> {
  const { config, modelFolder } = recipe;
  const { settings } = await resolveDevice(config.device.provider, config.device.threads, probeProvider);
  if (findTraits(settings).accelerator) {
    return null;
  }
  const model = await loadConfig(modelFolder);
  return tryProducts(
    model,
    settings,
    await estimateMessageLengths(config, { ...inputs, model }),
    config.evaluation.batch,
  );
}

/** Most runs to look at, newest first, and the number of paces that is enough. */
const LOOKED_AT = 40;
const ENOUGH = 5;

/**
 * Returns the paces of the newest runs with the same model, team, task, fan-out and machine.
 * Seconds per step are scaled to the number of problems.
 * @param problems number of problems in a step of the planned run
 * @param steps true if the planned run trains; then only runs that trained count
 */
export function readEarlierPaces(
  store: StoreReader,
  recipe: Recipe,
  here: NumericEnvironment,
  problems: number,
  steps: boolean,
): readonly Pace[] {
  const wanted = createLikenessKey(recipe);
  const paces: Pace[] = [];
  for (const { id } of store.runs(0, LOOKED_AT)) {
    if (paces.length === ENOUGH) {
      break;
    }
    const earlier = readRecipeIfKnown(store, id);
    if (earlier === null || createLikenessKey(earlier) !== wanted || !wasMadeOn(store, id, here)) {
      continue;
    }
    const pace = readRunPace(store, id, steps);
    const scale = problems / Math.max(1, earlier.config.instances_per_step);
    if (pace !== null) {
      paces.push({ ...pace, step: pace.step * scale });
    }
  }
  return paces;
}

/** Returns a key of the settings that must be equal for the times of two runs to be comparable. */
function createLikenessKey(recipe: Recipe): string {
  const { config, modelFolder, protocolText } = recipe;
  const { train_file: trainFile, evaluation_file: evaluationFile, name } = config.task;
  const rollouts =
    config.steps === 0
      ? null
      : listPlannedRollouts(config, parseRecipeProtocol(recipe)).map(({ fanout, shape }) => [
          shape ?? 'nested',
          ...fanout,
        ]);
  const { evaluator, adapter, sampling, ppo, memory, device, prompts = {} } = config;
  const ownPolicies = Object.keys(config.policies ?? {}).sort();
  const settings = [
    prompts,
    ownPolicies,
    evaluator,
    adapter,
    sampling.max_new_tokens,
    ppo.epochs,
    ppo.mini_batches,
    memory.recompute,
    device.precision,
    ...(methodReadsKey(config.method, 'teamtr') ? [config.teamtr.epochs, config.teamtr.kl_estimator] : []),
  ];
  return JSON.stringify([modelFolder, protocolText, name, trainFile, evaluationFile, rollouts, ...settings]);
}

/** Reads a stored recipe. Returns null if this version cannot read it. */
function readRecipeIfKnown(store: StoreReader, run: string): Recipe | null {
  try {
    return parseRecipe(store.runConfig(run), run);
  } catch (error) {
    if (error instanceof C3Error) {
      return null;
    }
    throw error;
  }
}

function wasMadeOn(store: StoreReader, run: string, here: NumericEnvironment): boolean {
  const [first] = store.costs(run);
  if (first === undefined) {
    return false;
  }
  const { provider, device, threads, platform } = store.environment(first.environment);
  return provider === here.provider && device === here.device && threads === here.threads && platform === here.platform;
}

/** Returns seconds per evaluated episode and per finished step, or null if the run has not done both. */
function readRunPace(store: StoreReader, run: string, steps: boolean): Pace | null {
  const account = store.account(run);
  const finished = store.run(run).steps;
  const episodes = store
    .evaluationNumbers(run)
    .reduce((total, iteration) => total + store.countEpisodes({ run, phase: 'evaluate', iteration }), 0);
  if (account === null || episodes === 0 || (steps && finished === 0)) {
    return null;
  }
  return {
    episode: Math.max(0, account.seconds - account.trainingSeconds) / episodes,
    step: finished === 0 ? 0 : account.trainingSeconds / finished,
  };
}

/** Milliseconds for which a trial is valid. */
const RECENT = 5 * 60_000;

/** Recent trials of models. They expire, because the machine may only have been busy for a short time. */
export class RecentTrials {
  private readonly trials = new Map<string, { readonly seconds: MessageSeconds; readonly at: number }>();

  /** @param now milliseconds of a monotonic clock @returns null without a recent trial */
  get(key: string, now: number): MessageSeconds | null {
    const known = this.trials.get(key);
    return known === undefined || now - known.at > RECENT ? null : known.seconds;
  }

  set(key: string, seconds: MessageSeconds, now: number): void {
    this.trials.set(key, { seconds, at: now });
  }
}

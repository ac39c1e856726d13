/** How long a run will take: from earlier runs like it, else from a trial on this machine. */
import { existsSync } from 'node:fs';
import { loadConfig, parameterCount } from '../../runtime/model/model.ts';
import { resolveDevice } from '../../runtime/provider/device.ts';
import { numericEnvironment } from '../../runtime/session/session.ts';
import { isDefaultRequest, traitsOf } from '../../shared/devices.ts';
import { C3Error } from '../../shared/errors.ts';
import { estimateWords, type TimeEstimate } from '../../shared/text/times.ts';
import { openStoreForReading } from '../../store/read/reader.ts';
import { runSampling } from '../../training/config/config.ts';
import type { ExpectedPace, Pace } from '../../training/measure/remaining.ts';
import type { RunControl } from '../../training/runContext.ts';
import { probeProvider } from '../machine/probing.ts';
import type { LoadedModel, ModelPool } from '../models/models.ts';
import type { Recipe } from '../recipe/recipe.ts';
import { messageLengths, type RunInputs } from './runDemand.ts';
import { earlierPaces } from './time/earlierPaces.ts';
import { estimateOf, middlePace, paceOf, plannedWork, type MessageSeconds, type PlannedWork } from './time/estimate.ts';
import { RecentTrials } from './time/recentTrials.ts';
import { TRIED_PARAMETERS, tryModel, tryProducts } from './time/trial.ts';

/** What is expected of a run. */
export interface Forecast {
  /** Null where nothing is known of how fast it goes here. */
  readonly estimate: TimeEstimate | null;
  readonly pace: ExpectedPace;
}

/** What is assumed without any measurement: only how training on a message compares with sampling it. */
const UNMEASURED: MessageSeconds = { sampled: 1, trained: 1.5 };

const never = new AbortController().signal;

/** Forecasts runs into one store. Trials are remembered for minutes. */
export class Timing {
  private readonly storePath: string;
  private readonly models: ModelPool;
  private readonly trials = new RecentTrials();

  constructor(storePath: string, models: ModelPool) {
    this.storePath = storePath;
    this.models = models;
  }

  /**
   * What a run would take that is not started. A small model is loaded and tried for a moment; nothing is stored.
   * @throws C3Error('model') where it cannot be loaded
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
   * Says what a run will take whose model is loaded.
   * @param finished steps of a stored run that continues
   * @returns the pace to expect of it
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
    const message = `Time: ${estimateWords(estimate)}`;
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
    const work = plannedWork(config, inputs.protocol, inputs.data, finished);
    const earlier = await this.earlier(recipe, Math.min(config.instances_per_step, inputs.data.train.length));
    const seen = middlePace(earlier);
    if (seen !== null) {
      return { estimate: estimateOf(work, earlier, 'earlier-runs'), pace: { ...seen, known: true } };
    }
    const key = trialKey(recipe);
    const known = this.trials.get(key, performance.now());
    const tried = known ?? (await trial());
    if (tried !== null) {
      if (known === null) {
        this.trials.set(key, tried, performance.now());
      }
      return forecastOf(work, paceOf(work, tried), 'model');
    }
    const products = await productSeconds(recipe, inputs);
    if (products !== null) {
      return forecastOf(work, paceOf(work, products), 'products');
    }
    return { estimate: null, pace: { ...paceOf(work, UNMEASURED), known: false } };
  }

  /** A store that is not there yet, or that cannot be read, says nothing of earlier runs. */
  private async earlier(recipe: Recipe, problems: number): Promise<readonly Pace[]> {
    if (!existsSync(this.storePath)) {
      return [];
    }
    const { provider, threads } = recipe.config.device;
    const { settings } = await resolveDevice(provider, threads, probeProvider);
    try {
      const store = openStoreForReading(this.storePath);
      try {
        return earlierPaces(store, recipe, numericEnvironment(settings), problems, recipe.config.steps > 0);
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
    const work = plannedWork(recipe.config, protocol, data);
    const messages = work.episodes * work.episodeMessages + work.steps * work.stepMessages;
    const problems = [...data.evaluation, ...data.train];
    const sampling = runSampling(recipe.config);
    const input = { runtime, tokenizer, info, protocol, render, sampling, problems, signal };
    const perEpisode = Math.max(1, work.episodeMessages);
    const evaluated = Math.min(recipe.config.evaluation.batch, data.evaluation.length);
    const together = Math.max(evaluated, work.stepMessages / perEpisode);
    return tryModel(input, messages / perEpisode, together);
  }
}

function forecastOf(work: PlannedWork, pace: Pace, basis: TimeEstimate['basis']): Forecast {
  return { estimate: estimateOf(work, [pace], basis), pace: { ...pace, known: true } };
}

/** What a trial depends on. */
function trialKey({ config, modelFolder, protocolText }: Recipe): string {
  const { device, sampling, task, chat, prompts = {} } = config;
  return JSON.stringify([modelFolder, protocolText, prompts, device, sampling, task, chat]);
}

/** Of a model that was not tried; null on an accelerator, whose products are not measured in this process. */
async function productSeconds(recipe: Recipe, inputs: RunInputs): Promise<MessageSeconds | null> {
  const { config, modelFolder } = recipe;
  const { settings } = await resolveDevice(config.device.provider, config.device.threads, probeProvider);
  if (traitsOf(settings).accelerator) {
    return null;
  }
  const model = await loadConfig(modelFolder);
  return tryProducts(model, settings, await messageLengths(config, { ...inputs, model }), config.evaluation.batch);
}

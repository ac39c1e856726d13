/** The models, snapshots and training state of one runtime, which the worker thread holds. */

import type { NumericEnvironment } from '../domain/snapshot.ts';
import type { RankShift } from '../domain/step.ts';
import type { AbortFlag } from '../shared/cancellation.ts';
import { C3Error } from '../shared/errors.ts';
import { Engines } from './engines.ts';
import type { OnLoadProgress } from './files/huggingFaceWeights.ts';
import { LEAST_CACHE_BYTES } from './generate/bounds.ts';
import type { Completion, GenerationControl, GenerationRequest } from './generate/generate.ts';
import { LoadedModel } from './loadedModel.ts';
import { initialAdapter, WHOLE_TEAM, withHalves } from './model/lora.ts';
import {
  isAdapterFile,
  loadAdapterFile,
  loadAdapters,
  saveAdapterFile,
  saveAdapters,
  settingsToJson,
} from './model/loraFolder.ts';
import { loadModel, loadParameters, parameterCount, saveParameters, snapshotId } from './model/model.ts';
import { checkTables, requireTrainable } from './model/modelLimits.ts';
import type { AdapterSettings } from './model/transformer.ts';
import type { AdapterStart, ModelInfo, ModelRuntime } from './modelRuntime.ts';
import { numericEnvironment, type DeviceSettings } from './session/session.ts';
import { loadTrainingStates, loadValueHead, saveTrainingStates } from './train/checkpoint.ts';
import type { TrainingContext } from './train/graph/pack.ts';
import { copyStates, interpolateStates } from './train/kept.ts';
import { addRankSums, meanRanks, emptyRankSums, sumRanksOfContexts } from './train/rankShift.ts';
import { findAdapterBase, groupBySnapshotWeights, findStateRole } from './train/roleWeights.ts';
import { combineReports, type StepReport } from './train/stepReport.ts';
import { initialState, type PreparedStep, type StepResult, type StepSettings } from './train/trainingState.ts';
import {
  initialValueHead,
  learnValueHead,
  computeValue,
  type ValueExample,
  type ValueReport,
  type ValueSettings,
  type ValueState,
} from './train/valueHead.ts';
import { loadValueHeadFile, saveValueHeadFile } from './train/valueHeadFile.ts';

/** Returns true if two adapter settings have the same rank, scale and modules. */
const sameAdapters = (one: AdapterSettings, other: AdapterSettings): boolean =>
  JSON.stringify(settingsToJson(one)) === JSON.stringify(settingsToJson(other));

/** The runtime in the calling thread. Every native call blocks it. */
export class ModelHost implements ModelRuntime {
  readonly environment: NumericEnvironment;
  private readonly device: DeviceSettings;
  private loaded: LoadedModel | undefined;
  private cacheBytes = LEAST_CACHE_BYTES;

  constructor(device: DeviceSettings) {
    this.device = device;
    this.environment = numericEnvironment(device);
  }

  async load(folder: string, onProgress?: OnLoadProgress, signal?: AbortFlag): Promise<ModelInfo> {
    const { precision = 'float32' } = this.device;
    const { config, parameters, snapshot } = await loadModel(folder, { precision, onProgress, signal });
    if (this.loaded === undefined || JSON.stringify(this.loaded.config) !== JSON.stringify(config)) {
      checkTables(config, folder);
      const engines = await Engines.create(withHalves(config, this.device), this.device);
      engines.boundCache(this.cacheBytes);
      await this.close();
      this.loaded = new LoadedModel({ config, folder, base: snapshot, engines, precision });
    }
    this.loaded.folder = folder;
    this.loaded.base = snapshot;
    this.loaded.snapshots.set(snapshot, { model: parameters });
    return { snapshot, config, parameters: parameterCount(config) };
  }

  async loadSnapshot(path: string): Promise<string> {
    const loaded = this.model();
    if (await isAdapterFile(path)) {
      const stored = await loadAdapterFile(path, loaded.config);
      return loaded.holdAdapters(stored, stored.base ?? loaded.base);
    }
    if (this.device.precision === 'float16') {
      throw new C3Error(
        'model',
        `${path} holds all weights of a model, and a runtime with float16 loads adapters only; set device.precision: float32.`,
      );
    }
    const parameters = await loadParameters(loaded.config, path);
    const snapshot = snapshotId(loaded.config, parameters);
    loaded.snapshots.set(snapshot, { model: parameters });
    return snapshot;
  }

  boundCache(bytes: number): Promise<void> {
    this.cacheBytes = bytes;
    this.loaded?.engines.boundCache(bytes);
    return Promise.resolve();
  }

  snapshots(): Promise<readonly string[]> {
    return Promise.resolve([...(this.loaded?.snapshots.keys() ?? [])]);
  }

  async generate(
    snapshot: string,
    requests: readonly GenerationRequest[],
    { signal, onCompletion, onToken }: GenerationControl,
  ): Promise<Completion[]> {
    const loaded = this.model();
    const held = loaded.held(snapshot);
    const completions: Completion[] = [];
    for (const { weights, settings, indices } of groupBySnapshotWeights(held, requests)) {
      const { generator } = await loaded.engines.of(settings);
      const answers = await generator.generate(
        weights,
        indices.flatMap((index) => requests[index] ?? []),
        {
          signal,
          onCompletion: (place, completion) => onCompletion?.(indices[place] ?? place, completion),
          onToken: (place, token, logprob) => onToken?.(indices[place] ?? place, token, logprob),
        },
      );
      answers.forEach((answer, place) => (completions[indices[place] ?? place] = answer));
    }
    return completions;
  }

  async score(
    snapshot: string,
    contexts: readonly TrainingContext[],
    temperature: number,
    signal: AbortFlag,
  ): Promise<Float32Array[][]> {
    const loaded = this.model();
    const held = loaded.held(snapshot);
    const scores: Float32Array[][] = [];
    for (const { weights, settings, indices } of groupBySnapshotWeights(held, contexts)) {
      const { trainer } = await loaded.engines.of(settings);
      const part = await trainer.score(
        weights,
        indices.flatMap((index) => contexts[index] ?? []),
        temperature,
        signal,
      );
      part.forEach((messages, place) => (scores[indices[place] ?? place] = messages));
    }
    return scores;
  }

  async divergence(
    snapshot: string,
    other: string,
    contexts: readonly TrainingContext[],
    temperature: number,
    signal: AbortFlag,
  ): Promise<Float32Array[][]> {
    const found: Float32Array[][] = [];
    for await (const { trainer, weights, others, some, places } of this.pairs(snapshot, other, contexts, temperature)) {
      const part = await trainer.divergence(weights, others, some, temperature, signal);
      part.forEach((messages, place) => (found[places[place] ?? place] = messages));
    }
    return found;
  }

  async rankShift(
    snapshot: string,
    other: string,
    contexts: readonly TrainingContext[],
    temperature: number,
    signal: AbortFlag,
  ): Promise<RankShift> {
    let sums = emptyRankSums();
    for await (const { trainer, weights, others, some } of this.pairs(snapshot, other, contexts, temperature)) {
      const policies = { before: trainer.distributions(weights, temperature), after: others };
      sums = addRankSums(sums, await sumRanksOfContexts(this.model().config, policies, some, signal));
    }
    return meanRanks(sums);
  }

  /** Yields groups of contexts for which each snapshot answers with one set of its weights. */
  private async *pairs(snapshot: string, other: string, contexts: readonly TrainingContext[], temperature: number) {
    const loaded = this.model();
    const [one, another] = [loaded.held(snapshot), loaded.held(other)];
    for (const { weights, settings, indices } of groupBySnapshotWeights(one, contexts)) {
      const { trainer } = await loaded.engines.of(settings);
      const own = indices.flatMap((index) => contexts[index] ?? []);
      for (const group of groupBySnapshotWeights(another, own)) {
        const some = group.indices.flatMap((place) => own[place] ?? []);
        const others = await loaded.distributions(other, some, temperature);
        yield { trainer, weights, others, some, places: group.indices.map((place) => indices[place] ?? place) };
      }
    }
  }

  async beginTraining(snapshot: string, adapter?: AdapterStart): Promise<void> {
    const loaded = this.model();
    const { model, team } = loaded.held(snapshot);
    if (team !== undefined && adapter === undefined) {
      throw new C3Error(
        'model',
        `Snapshot ${snapshot.slice(0, 12)} has adapters; begin training from the model under them.`,
      );
    }
    await loaded.engines.forget();
    loaded.kept = undefined;
    loaded.valueHead = undefined;
    if (adapter === undefined) {
      loaded.training = new Map([[WHOLE_TEAM, initialState(requireTrainable(model))]]);
    } else {
      const { settings, seed, roles = [WHOLE_TEAM] } = adapter;
      if (team !== undefined && !sameAdapters(team.origin.settings, settings)) {
        throw new C3Error(
          'model',
          `Snapshot ${snapshot.slice(0, 12)} has adapters of another rank, alpha or modules than those that are to be trained; name the same ones.`,
        );
      }
      const base = team?.origin.base ?? snapshot;
      loaded.training = new Map(
        roles.map((role) => [
          role,
          initialState(team?.adapters.get(role) ?? initialAdapter(loaded.config, settings, seed, role), {
            settings,
            base,
            model,
          }),
        ]),
      );
    }
  }

  async step(contexts: readonly TrainingContext[], settings: StepSettings, signal: AbortFlag): Promise<StepReport> {
    const loaded = this.model();
    const training = loaded.trainingOf(contexts);
    const { trainer } = await loaded.engines.of(findAdapterBase(training)?.settings);
    const prepared = new Map<string, PreparedStep>();
    try {
      for (const [role, state] of training) {
        const own = contexts.filter((context) => findStateRole(training, context.role) === role);
        if (own.length > 0 || training.size === 1) {
          const anchor =
            settings.anchor === undefined
              ? undefined
              : await loaded.distributions(settings.anchor, own, settings.temperature);
          prepared.set(role, await trainer.prepare(state, own, settings, signal, anchor));
        }
      }
    } catch (error) {
      for (const { discard } of prepared.values()) {
        discard();
      }
      throw error;
    }
    const results: StepResult[] = [];
    const next = new Map(training);
    for (const [role, { apply }] of prepared) {
      const result = await apply();
      results.push(result);
      next.set(role, result.state);
    }
    loaded.training = next;
    return combineReports(results);
  }

  async values(states: readonly ValueState[], signal: AbortFlag): Promise<number[]> {
    const loaded = this.model();
    const { parameters } = loaded.head;
    return (await loaded.trainedStates(states, signal)).map((hidden) => computeValue(parameters, hidden));
  }

  async valuesUnder(
    snapshot: string,
    head: string | null,
    states: readonly ValueState[],
    signal: AbortFlag,
  ): Promise<number[]> {
    const loaded = this.model();
    const { hiddenSize } = loaded.config;
    const groups = groupBySnapshotWeights(loaded.held(snapshot), states);
    const parameters =
      head === null ? initialValueHead(hiddenSize).parameters : await loadValueHeadFile(head, snapshot, hiddenSize);
    return (await loaded.lastStates(groups, states, signal)).map((hidden) => computeValue(parameters, hidden));
  }

  async learnValues(
    states: readonly ValueState[],
    examples: readonly ValueExample[],
    settings: ValueSettings,
    signal: AbortFlag,
  ): Promise<ValueReport> {
    const loaded = this.model();
    const { head, ...report } = learnValueHead(
      loaded.head,
      await loaded.trainedStates(states, signal),
      examples,
      settings,
    );
    loaded.valueHead = head;
    return report;
  }

  async keepTraining(): Promise<void> {
    const loaded = this.model();
    loaded.kept = copyStates(await loaded.downloaded());
  }

  async revertTraining(share: number): Promise<void> {
    const loaded = this.model();
    if (loaded.kept === undefined) {
      throw new C3Error('model', 'No training state was saved to restore; save one first.');
    }
    const training = interpolateStates(loaded.kept, await loaded.downloaded(), share);
    await loaded.engines.forget();
    loaded.training = training;
  }

  async freeze(): Promise<string> {
    return Promise.resolve(this.model().freeze());
  }

  async saveCheckpoint(path: string): Promise<void> {
    const loaded = this.model();
    await saveTrainingStates(await loaded.downloaded(), path, loaded.valueHead);
  }

  async loadCheckpoint(path: string): Promise<string> {
    const loaded = this.model();
    const training = await loadTrainingStates(loaded.config, path, (base) => loaded.baseModel(base));
    const valueHead = await loadValueHead(loaded.config, path);
    await loaded.engines.forget();
    loaded.kept = undefined;
    loaded.training = training;
    loaded.valueHead = valueHead;
    return loaded.freeze();
  }

  async saveSnapshot(snapshot: string, path: string): Promise<void> {
    const loaded = this.model();
    const { config } = loaded;
    const { model, team } = loaded.held(snapshot);
    if (team === undefined) {
      await saveParameters(config, requireTrainable(model), path);
    } else {
      await saveAdapterFile(path, config, team.origin, team.adapters);
    }
  }

  async saveValueHead(snapshot: string, path: string): Promise<void> {
    await saveValueHeadFile(path, snapshot, this.model().head.parameters);
  }

  async hasAdapter(snapshot: string): Promise<boolean> {
    return Promise.resolve(this.model().held(snapshot).team !== undefined);
  }

  async saveAdapter(snapshot: string, folder: string, baseModel: string | null): Promise<readonly string[]> {
    const loaded = this.model();
    const { config } = loaded;
    const { team } = loaded.held(snapshot);
    if (team === undefined) {
      throw new C3Error('model', `Snapshot ${snapshot.slice(0, 12)} has no adapter; save its weights instead.`);
    }
    return saveAdapters(folder, config, team.origin, team.adapters, baseModel);
  }

  async loadAdapter(folder: string, base: string): Promise<string> {
    const loaded = this.model();
    const stored = await loadAdapters(folder, loaded.config);
    if (stored.base !== null && stored.base !== base) {
      throw new C3Error(
        'model',
        `${folder} was trained over the weights ${stored.base.slice(0, 12)}, not over ${base.slice(0, 12)}; load the model that it was trained over.`,
      );
    }
    return loaded.holdAdapters(stored, base);
  }

  releaseSnapshot(snapshot: string): Promise<void> {
    this.loaded?.snapshots.delete(snapshot);
    return Promise.resolve();
  }

  async close(): Promise<void> {
    const loaded = this.loaded;
    this.loaded = undefined;
    await loaded?.engines.release();
  }

  private model(): LoadedModel {
    if (this.loaded === undefined) {
      throw new C3Error('model', 'No model is loaded; load a model folder first.');
    }
    return this.loaded;
  }
}

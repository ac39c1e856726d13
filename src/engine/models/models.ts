/**
 * Models in worker threads. A run has one for itself. Replays share another one and hold the snapshots
 * that they use, so that these stay loaded.
 */

import { join } from 'node:path';
import { LocalPolicy, PolicyGone, type Policy } from '../../policy/policy.ts';
import { TOKENIZER_FILE, type Tokenizer } from '../../policy/tokenizer.ts';
import type { OnLoadProgress } from '../../runtime/files/huggingFaceWeights.ts';
import { LEAST_CACHE_BYTES } from '../../runtime/generate/bounds.ts';
import { availableCacheBytes, planMemory } from '../../runtime/memoryPlan.ts';
import { loadConfig } from '../../runtime/model/model.ts';
import type { ModelInfo, ModelRuntime } from '../../runtime/modelRuntime.ts';
import { resolveDevice, type Probe } from '../../runtime/provider/device.ts';
import { startRuntime, type EndableRuntime } from '../../runtime/remote.ts';
import { NEVER, onAbort, unlessCancelled } from '../../shared/cancellation.ts';
import { DEFAULT_PROVIDER, findTraits, type Provider } from '../../shared/devices.ts';
import { C3Error, CancelledError, toErrorMessage } from '../../shared/errors.ts';
import { Holds, type Held } from '../../shared/holds.ts';
import { findAvailableMemory, toMemoryLimit } from '../machine/machineMemory.ts';
import { probeProvider } from '../machine/probing.ts';
import { WORKER_ENTRY } from '../places.ts';
import type { Recipe } from '../recipe/recipe.ts';
import { Endpoints } from './endpoints.ts';
import { TextPool } from './texts.ts';

/** The loaded model of a recipe. */
export interface LoadedModel {
  readonly runtime: ModelRuntime;
  readonly tokenizer: Tokenizer;
  readonly info: ModelInfo;
  /** Remark for the user on the device, or null. */
  readonly remark: string | null;
}

/** Options for loading a model. */
export interface LoadControl {
  /** Maximum bytes of the key-value cache of a call; the default depends on the free memory. */
  readonly cacheBytes?: number;
  readonly onProgress?: OnLoadProgress;
  readonly signal?: AbortSignal;
}

/** A policy that is returned at the end of the scope that took it. */
export interface LentPolicy extends AsyncDisposable {
  readonly policy: Policy;
  readonly runtime: ModelRuntime;
  readonly tokenizer: Tokenizer;
  readonly info: ModelInfo;
}

/** Finds or rebuilds the weights file of a snapshot; returns null if that is impossible. */
export type WeightsFinder = (snapshot: string) => Promise<string | null>;

/** Share of the memory that is free besides the weights, for the cache of calls outside of runs. */
const FREE_SHARE = 0.25;
/** Milliseconds in which a load that is reading notices that it was cancelled. */
const CANCEL_GRACE_MILLISECONDS = 100;

/** Unused snapshots that a runtime keeps. */
const MAX_IDLE_SNAPSHOTS = 4;

interface Slot {
  /** Provider, threads and model folder. */
  readonly key: string;
  readonly provider: Provider;
  readonly remark: string | null;
  readonly started: Promise<EndableRuntime>;
  /** True if its thread was ended in the middle of a load. */
  abandoned: boolean;
  users: number;
  exclusive: boolean;
  info: ModelInfo | undefined;
  /** Number of users of each snapshot. */
  readonly used: Map<string, number>;
  /** Snapshots without users, the longest unused one first. */
  idle: string[];
}

/** A slot in use. */
type OpenSlot = Held<{ readonly slot: Slot; readonly runtime: EndableRuntime }>;

const disposeOf = (holds: Holds): AsyncDisposable => ({ [Symbol.asyncDispose]: () => holds[Symbol.asyncDispose]() });

export class ModelPool {
  readonly texts = new TextPool();
  /** Servers of models that are not in this process. */
  readonly endpoints = new Endpoints();
  private slots: Slot[] = [];
  private readonly probe: Probe;

  /** @param probe examines the accelerators that recipes request */
  constructor(probe: Probe = probeProvider) {
    this.probe = probe;
  }

  /**
   * Loads the recipe's model for a run, which uses its runtime alone.
   * @throws C3Error('model') if the model cannot be loaded; CancelledError
   */
  async takeAlone(recipe: Recipe, control: LoadControl = {}): Promise<Held<LoadedModel>> {
    const tokenizer = await this.texts.tokenizer(recipe.modelFolder, control.signal);
    await using holds = new Holds();
    const { slot, runtime } = await holds.take(this.open(recipe, true));
    holds.add({
      [Symbol.asyncDispose]: async () => keepSnapshots(slot, runtime, await runtime.snapshots().catch(() => [])),
    });
    // Training may need all memory that is free now.
    await runtime.boundCache(control.cacheBytes ?? LEAST_CACHE_BYTES);
    const info = await loadIntoSlot(slot, runtime, tokenizer, recipe, control);
    return { runtime, tokenizer, info, remark: slot.remark, ...disposeOf(holds.move()) };
  }

  /**
   * Takes the current weights of a model folder, with the adapter of another folder if one is given.
   * @throws C3Error('model') if they cannot be loaded; CancelledError
   */
  async takeFolder(recipe: Recipe, adapter: string | null, control: LoadControl = {}): Promise<LentPolicy> {
    await using opened = await this.open(recipe, false, control.cacheBytes);
    const { slot, runtime } = opened;
    const base = await this.base(recipe, control);
    const snapshot = adapter === null ? base : await runtime.loadAdapter(adapter, base);
    keepSnapshots(slot, runtime, [snapshot]);
    return await this.take(recipe, snapshot, () => Promise.resolve(null), control);
  }

  /**
   * Takes the policy of a snapshot; several may be in use at once.
   * @throws PolicyGone if its weights are missing and cannot be rebuilt; CancelledError
   */
  async take(recipe: Recipe, snapshot: string, weights: WeightsFinder, control: LoadControl = {}): Promise<LentPolicy> {
    const tokenizer = await this.texts.tokenizer(recipe.modelFolder, control.signal);
    await using holds = new Holds();
    const { slot, runtime } = await holds.take(this.open(recipe, false, control.cacheBytes));
    holds.add(useSnapshot(slot, runtime, snapshot));
    const gone = await provideSnapshot(slot, runtime, tokenizer, recipe, snapshot, weights, control);
    if (gone !== null) {
      throw new PolicyGone(gone);
    }
    if (slot.info === undefined) {
      throw new Error('A runtime that holds a snapshot has loaded its model.');
    }
    const { info } = slot;
    const policy = new LocalPolicy(runtime, tokenizer, snapshot, info.config.maxPositions);
    return { policy, runtime, tokenizer, info, ...disposeOf(holds.move()) };
  }

  /**
   * Returns the snapshot of a recipe's model folder, after loading the model if necessary.
   * @throws C3Error('model'); CancelledError
   */
  async base(recipe: Recipe, control: LoadControl = {}): Promise<string> {
    const tokenizer = await this.texts.tokenizer(recipe.modelFolder, control.signal);
    await using opened = await this.open(recipe, false, control.cacheBytes);
    const { slot, runtime } = opened;
    if (slot.info !== undefined) {
      return slot.info.snapshot;
    }
    const { snapshot } = await loadIntoSlot(slot, runtime, tokenizer, recipe, control);
    keepSnapshots(slot, runtime, [snapshot]);
    return snapshot;
  }

  async close(): Promise<void> {
    const { slots } = this;
    this.slots = [];
    this.texts.close();
    await Promise.all(slots.map(closeSlot));
  }

  private async open(recipe: Recipe, exclusive: boolean, cacheBytes?: number): Promise<OpenSlot> {
    const { provider, threads, precision } = recipe.config.device;
    const { settings: device, remark } = await resolveDevice(provider, threads, this.probe);
    const settings = precision === 'float32' ? device : { ...device, precision };
    const key = JSON.stringify([settings, recipe.modelFolder]);
    let slot = this.slots.find(
      (candidate) => candidate.key === key && !candidate.exclusive && (!exclusive || candidate.users === 0),
    );
    let left: Slot[] = [];
    if (slot === undefined) {
      // The new model replaces all unused ones.
      left = this.slots.filter(({ users }) => users === 0);
      slot = {
        key,
        provider: settings.provider ?? DEFAULT_PROVIDER,
        remark,
        started: startRuntime(WORKER_ENTRY, settings),
        abandoned: false,
        users: 0,
        exclusive,
        info: undefined,
        used: new Map(),
        idle: [],
      };
      this.slots = [...this.slots.filter(({ users }) => users > 0), slot];
    }
    slot.users++;
    slot.exclusive = exclusive;
    const given = slot;
    try {
      await Promise.all(left.map(closeSlot));
      const runtime = await given.started;
      if (!exclusive && given.users === 1) {
        // The memory that is free now may be needed by slots in use.
        const isAlone = this.slots.every((other) => other === given || other.users === 0);
        const bytes = isAlone ? await findCacheRoom(recipe, given.provider) : LEAST_CACHE_BYTES;
        await runtime.boundCache(cacheBytes ?? bytes);
      }
      return { slot: given, runtime, [Symbol.asyncDispose]: () => this.release(given, runtime) };
    } catch (error) {
      this.forget(given);
      await this.release(given, null);
      throw error;
    }
  }

  private async release(slot: Slot, runtime: EndableRuntime | null): Promise<void> {
    if (slot.abandoned || runtime?.ended === true) {
      this.forget(slot);
    }
    slot.users--;
    slot.exclusive = false;
    await this.dropTwin(slot);
  }

  private forget(slot: Slot): void {
    this.slots = this.slots.filter((other) => other !== slot);
  }

  /** After a run, keeps the runtime that served replays meanwhile, and closes the run's own. */
  private async dropTwin(slot: Slot): Promise<void> {
    if (
      slot.users > 0 ||
      !this.slots.some((other) => other !== slot && other.key === slot.key && this.slots.includes(slot))
    ) {
      return;
    }
    this.forget(slot);
    await closeSlot(slot);
  }
}

/** @throws C3Error('model') if the tokenizer has tokens that the model does not have */
export function checkTokenizer(folder: string, tokenizer: Tokenizer, { config: { vocabularySize } }: ModelInfo): void {
  if (tokenizer.vocabularySize <= vocabularySize) {
    return;
  }
  throw new C3Error(
    'model',
    `${join(folder, TOKENIZER_FILE)} has ${tokenizer.vocabularySize} tokens where the model has ${vocabularySize}; put the model's own tokenizer there.`,
  );
}

async function loadIntoSlot(
  slot: Slot,
  runtime: EndableRuntime,
  tokenizer: Tokenizer,
  { modelFolder }: Recipe,
  { onProgress, signal = NEVER }: LoadControl = {},
): Promise<ModelInfo> {
  const loading = runtime.load(modelFolder, onProgress, signal);
  const state = { ended: false };
  const end = (): void => {
    state.ended = true;
  };
  loading.then(end, end);
  // A load that notices the cancel by itself ends within this time.
  const late = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const release = onAbort(signal, () => {
    timer = setTimeout(() => late.abort(), CANCEL_GRACE_MILLISECONDS);
  });
  let info: ModelInfo;
  try {
    info = await unlessCancelled(loading, late.signal);
  } catch (error) {
    // Building graphs ignores the cancel. The thread is ended if nobody else waits for it.
    if (!state.ended && slot.users === 1) {
      slot.abandoned = true;
      runtime.abandon();
    }
    throw error;
  } finally {
    release();
    clearTimeout(timer);
  }
  checkTokenizer(modelFolder, tokenizer, info);
  slot.info = info;
  return info;
}

/**
 * Returns the bytes for the key-value cache, from the memory that is free besides a model's weights.
 * An accelerator reports only its total memory, so its cache gets the minimum.
 */
async function findCacheRoom({ config, modelFolder }: Recipe, provider: Provider): Promise<number> {
  if (findTraits({ provider }).accelerator) {
    return LEAST_CACHE_BYTES;
  }
  try {
    const { precision } = config.device;
    const model = await loadConfig(modelFolder);
    const demand = { config: model, precision, accelerated: false, generation: [], training: null };
    return availableCacheBytes(
      planMemory(demand, await findAvailableMemory(provider, toMemoryLimit(config.memory))),
      false,
      FREE_SHARE,
    );
  } catch {
    // Loading reports faults of the folder; weights that are loaded already still answer.
    return LEAST_CACHE_BYTES;
  }
}

async function provideSnapshot(
  slot: Slot,
  runtime: EndableRuntime,
  tokenizer: Tokenizer,
  recipe: Recipe,
  snapshot: string,
  weights: WeightsFinder,
  control: LoadControl,
): Promise<string | null> {
  const short = snapshot.slice(0, 12);
  try {
    if (slot.info !== undefined && (await runtime.snapshots()).includes(snapshot)) {
      return null;
    }
    // The architecture stays loaded, but the weights of the base may have been released.
    if (slot.info === undefined || slot.info.snapshot === snapshot) {
      const base = await loadIntoSlot(slot, runtime, tokenizer, recipe, control);
      keepSnapshots(slot, runtime, [base.snapshot]);
      if (base.snapshot === snapshot) {
        return null;
      }
    }
    const file = await weights(snapshot);
    if (file === null) {
      return `The weights of snapshot ${short} were not kept and cannot be rebuilt, so its messages cannot be re-executed.`;
    }
    const loaded = await runtime.loadSnapshot(file);
    keepSnapshots(slot, runtime, [loaded]);
    return loaded === snapshot
      ? null
      : `${file} holds other weights than snapshot ${short}; put the original file back.`;
  } catch (error) {
    if (error instanceof CancelledError) {
      throw error;
    }
    return `The weights of snapshot ${short} cannot be loaded: ${toErrorMessage(error)}`;
  }
}

/** Counts a user of a snapshot; a snapshot without users may be released. */
function useSnapshot(slot: Slot, runtime: ModelRuntime, snapshot: string): Disposable {
  slot.used.set(snapshot, (slot.used.get(snapshot) ?? 0) + 1);
  slot.idle = slot.idle.filter((name) => name !== snapshot);
  return {
    [Symbol.dispose]: () => {
      const users = (slot.used.get(snapshot) ?? 1) - 1;
      if (users > 0) {
        slot.used.set(snapshot, users);
      } else {
        slot.used.delete(snapshot);
        keepSnapshots(slot, runtime, [snapshot]);
      }
    },
  };
}

/** Notes unused snapshots, and releases the longest unused ones, without waiting for the runtime. */
function keepSnapshots(slot: Slot, runtime: ModelRuntime, snapshots: readonly string[]): void {
  slot.idle = [
    ...slot.idle.filter((name) => !snapshots.includes(name)),
    ...snapshots.filter((name) => !slot.used.has(name)),
  ];
  const dropped = slot.idle.splice(0, Math.max(0, slot.idle.length - MAX_IDLE_SNAPSHOTS));
  for (const name of dropped) {
    void runtime.releaseSnapshot(name).catch(() => undefined);
  }
}

async function closeSlot({ started }: Slot): Promise<void> {
  const runtime = await started.catch(() => undefined);
  await runtime?.close();
}

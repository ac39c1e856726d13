/**
 * Models in worker threads. A run has one to itself; replays share another and hold the snapshots that they use, so
 * that nobody takes weights from under another.
 */
import { join } from 'node:path';
import { LocalPolicy, PolicyGone, type Policy } from '../../policy/policy.ts';
import { TOKENIZER_FILE, type Tokenizer } from '../../policy/tokenizer.ts';
import type { OnLoadProgress } from '../../runtime/files/huggingFaceWeights.ts';
import { LEAST_CACHE_BYTES } from '../../runtime/generate/bounds.ts';
import { cacheRoom, planMemory } from '../../runtime/memoryPlan.ts';
import { loadConfig } from '../../runtime/model/model.ts';
import type { ModelInfo, ModelRuntime } from '../../runtime/modelRuntime.ts';
import { resolveDevice, type Probe } from '../../runtime/provider/device.ts';
import { startRuntime, type EndableRuntime } from '../../runtime/remote.ts';
import { NEVER, onAbort, unlessCancelled } from '../../shared/cancellation.ts';
import { DEFAULT_PROVIDER, traitsOf, type Provider } from '../../shared/devices.ts';
import { C3Error, CancelledError, messageOf } from '../../shared/errors.ts';
import { Holds, type Held } from '../../shared/holds.ts';
import { availableMemory, memoryLimit } from '../machine/machineMemory.ts';
import { probeProvider } from '../machine/probing.ts';
import { WORKER_ENTRY } from '../places.ts';
import type { Recipe } from '../recipe/recipe.ts';
import { Endpoints } from './endpoints.ts';
import { TextPool } from './texts.ts';

/** A recipe's model, loaded. */
export interface LoadedModel {
  readonly runtime: ModelRuntime;
  readonly tokenizer: Tokenizer;
  readonly info: ModelInfo;
  /** What the user should know of the device that it computes on. */
  readonly remark: string | null;
}

/** Who follows the loading of a model. */
export interface LoadControl {
  /** What the key-value cache of a call may take; chosen by what is free unless given. */
  readonly cacheBytes?: number;
  readonly onProgress?: OnLoadProgress;
  readonly signal?: AbortSignal;
}

/** A policy that is given back at the end of the scope that took it. */
export interface LentPolicy extends AsyncDisposable {
  readonly policy: Policy;
  readonly runtime: ModelRuntime;
  readonly tokenizer: Tokenizer;
  readonly info: ModelInfo;
}

/** Finds the weights file of a snapshot, or makes it; null where it cannot be had. */
export type WeightsFinder = (snapshot: string) => Promise<string | null>;

/** How much of the memory that is free beside the weights the cache of calls outside of runs may take. */
const FREE_SHARE = 0.25;
/** Milliseconds in which a load that reads notices a cancel. */
const GRACE = 100;

/** Snapshots that a runtime keeps though nobody uses them. */
const KEPT_SNAPSHOTS = 4;

interface Slot {
  /** Provider, threads and model folder. */
  readonly key: string;
  readonly provider: Provider;
  readonly remark: string | null;
  readonly started: Promise<EndableRuntime>;
  /** Whether its thread was ended in the middle of a load. */
  abandoned: boolean;
  users: number;
  exclusive: boolean;
  info: ModelInfo | undefined;
  /** How many users each snapshot has. */
  readonly used: Map<string, number>;
  /** Snapshots without users, the longest unused first. */
  idle: string[];
}

/** A slot that somebody uses. */
type OpenSlot = Held<{ readonly slot: Slot; readonly runtime: EndableRuntime }>;

const disposing = (holds: Holds): AsyncDisposable => ({ [Symbol.asyncDispose]: () => holds[Symbol.asyncDispose]() });

export class ModelPool {
  readonly texts = new TextPool();
  /** What models elsewhere are asked with. */
  readonly endpoints = new Endpoints();
  private slots: Slot[] = [];
  private readonly probe: Probe;

  /** @param probe examines accelerators that recipes ask for */
  constructor(probe: Probe = probeProvider) {
    this.probe = probe;
  }

  /**
   * A runtime with the recipe's model for a run, alone.
   * @throws C3Error('model') when the model cannot be loaded; CancelledError
   */
  async takeAlone(recipe: Recipe, control: LoadControl = {}): Promise<Held<LoadedModel>> {
    const tokenizer = await this.texts.tokenizer(recipe.modelFolder, control.signal);
    await using holds = new Holds();
    const { slot, runtime } = await holds.take(this.open(recipe, true));
    holds.add({ [Symbol.asyncDispose]: async () => keep(slot, runtime, await runtime.snapshots().catch(() => [])) });
    // What trains may come to need all that is free now.
    await runtime.boundCache(control.cacheBytes ?? LEAST_CACHE_BYTES);
    const info = await loadInto(slot, runtime, tokenizer, recipe, control);
    return { runtime, tokenizer, info, remark: slot.remark, ...disposing(holds.move()) };
  }

  /**
   * What a model folder holds now, or that with the adapter of another folder over it, whatever weights these are.
   * @throws C3Error('model') where they cannot be loaded; CancelledError
   */
  async takeFolder(recipe: Recipe, adapter: string | null, control: LoadControl = {}): Promise<LentPolicy> {
    await using opened = await this.open(recipe, false, control.cacheBytes);
    const { slot, runtime } = opened;
    const base = await this.base(recipe, control);
    const snapshot = adapter === null ? base : await runtime.loadAdapter(adapter, base);
    keep(slot, runtime, [snapshot]);
    return await this.take(recipe, snapshot, () => Promise.resolve(null), control);
  }

  /**
   * The policy of a snapshot; many may be held at once.
   * @throws PolicyGone where its weights cannot be had; CancelledError
   */
  async take(recipe: Recipe, snapshot: string, weights: WeightsFinder, control: LoadControl = {}): Promise<LentPolicy> {
    const tokenizer = await this.texts.tokenizer(recipe.modelFolder, control.signal);
    await using holds = new Holds();
    const { slot, runtime } = await holds.take(this.open(recipe, false, control.cacheBytes));
    holds.add(use(slot, runtime, snapshot));
    const gone = await provide(slot, runtime, tokenizer, recipe, snapshot, weights, control);
    if (gone !== null) {
      throw new PolicyGone(gone);
    }
    if (slot.info === undefined) {
      throw new Error('A runtime that holds a snapshot has loaded its model.');
    }
    const { info } = slot;
    const policy = new LocalPolicy(runtime, tokenizer, snapshot, info.config.maxPositions);
    return { policy, runtime, tokenizer, info, ...disposing(holds.move()) };
  }

  /**
   * The snapshot that a recipe's model folder holds; the model is loaded where it is not.
   * @throws C3Error('model'); CancelledError
   */
  async base(recipe: Recipe, control: LoadControl = {}): Promise<string> {
    const tokenizer = await this.texts.tokenizer(recipe.modelFolder, control.signal);
    await using opened = await this.open(recipe, false, control.cacheBytes);
    const { slot, runtime } = opened;
    if (slot.info !== undefined) {
      return slot.info.snapshot;
    }
    const { snapshot } = await loadInto(slot, runtime, tokenizer, recipe, control);
    keep(slot, runtime, [snapshot]);
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
      // Another model takes the place of those that nobody uses.
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
        // What is free now, others that work beside it may count on.
        const isAlone = this.slots.every((other) => other === given || other.users === 0);
        const bytes = isAlone ? await freeCacheRoom(recipe, given.provider) : LEAST_CACHE_BYTES;
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

  /** After a run, the runtime that served replays meanwhile stays, and the run's own goes. */
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

/** @throws C3Error('model') when the tokenizer has tokens that the model does not know */
export function checkTokenizer(folder: string, tokenizer: Tokenizer, { config: { vocabularySize } }: ModelInfo): void {
  if (tokenizer.vocabularySize <= vocabularySize) {
    return;
  }
  throw new C3Error(
    'model',
    `${join(folder, TOKENIZER_FILE)} has ${tokenizer.vocabularySize} tokens where the model has ${vocabularySize}; put the model's own tokenizer there.`,
  );
}

async function loadInto(
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
  // What notices a cancel by itself has ended a moment after it.
  const late = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const release = onAbort(signal, () => {
    timer = setTimeout(() => late.abort(), GRACE);
  });
  let info: ModelInfo;
  try {
    info = await unlessCancelled(loading, late.signal);
  } catch (error) {
    // Graphs are built without a look at the cancel; nobody else waits for these.
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
 * What the key-value cache may take of the memory that is free beside a model's weights. An accelerator says only how
 * much it has.
 */
async function freeCacheRoom({ config, modelFolder }: Recipe, provider: Provider): Promise<number> {
  if (traitsOf({ provider }).accelerator) {
    return LEAST_CACHE_BYTES;
  }
  try {
    const { precision } = config.device;
    const model = await loadConfig(modelFolder);
    const demand = { config: model, precision, accelerated: false, generation: [], training: null };
    return cacheRoom(
      planMemory(demand, await availableMemory(provider, memoryLimit(config.memory))),
      false,
      FREE_SHARE,
    );
  } catch {
    // Whoever loads the model hears what is wrong with its folder; weights that are loaded still answer.
    return LEAST_CACHE_BYTES;
  }
}

async function provide(
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
    // The architecture stays loaded; the base's own weights may have been let go.
    if (slot.info === undefined || slot.info.snapshot === snapshot) {
      const base = await loadInto(slot, runtime, tokenizer, recipe, control);
      keep(slot, runtime, [base.snapshot]);
      if (base.snapshot === snapshot) {
        return null;
      }
    }
    const file = await weights(snapshot);
    if (file === null) {
      return `The weights of snapshot ${short} were not kept and cannot be rebuilt, so its messages cannot be re-executed.`;
    }
    const loaded = await runtime.loadSnapshot(file);
    keep(slot, runtime, [loaded]);
    return loaded === snapshot
      ? null
      : `${file} holds other weights than snapshot ${short}; put the original file back.`;
  } catch (error) {
    if (error instanceof CancelledError) {
      throw error;
    }
    return `The weights of snapshot ${short} cannot be loaded: ${messageOf(error)}`;
  }
}

/** Notes a user of a snapshot; once there is none, it is one that may be let go. */
function use(slot: Slot, runtime: ModelRuntime, snapshot: string): Disposable {
  slot.used.set(snapshot, (slot.used.get(snapshot) ?? 0) + 1);
  slot.idle = slot.idle.filter((name) => name !== snapshot);
  return {
    [Symbol.dispose]: () => {
      const users = (slot.used.get(snapshot) ?? 1) - 1;
      if (users > 0) {
        slot.used.set(snapshot, users);
      } else {
        slot.used.delete(snapshot);
        keep(slot, runtime, [snapshot]);
      }
    },
  };
}

/**
 * Notes snapshots that are held without a user, and lets the longest unused go; the runtime's other work is not waited
 * for.
 */
function keep(slot: Slot, runtime: ModelRuntime, snapshots: readonly string[]): void {
  slot.idle = [
    ...slot.idle.filter((name) => !snapshots.includes(name)),
    ...snapshots.filter((name) => !slot.used.has(name)),
  ];
  const dropped = slot.idle.splice(0, Math.max(0, slot.idle.length - KEPT_SNAPSHOTS));
  for (const name of dropped) {
    void runtime.releaseSnapshot(name).catch(() => undefined);
  }
}

async function closeSlot({ started }: Slot): Promise<void> {
  const runtime = await started.catch(() => undefined);
  await runtime?.close();
}

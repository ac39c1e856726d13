/**
 * Plans the largest memory that generation and training need, from the graphs and from the arrays that
 * each part holds. Every compiled graph keeps the working memory of its largest call (ONNX Runtime's
 * arenas never shrink), so the needs of the graphs add up.
 */

import type { Precision } from '../shared/devices.ts';
import type { MemoryItem, MemoryPlace, MemoryPlan, MemoryTotal } from '../shared/models.ts';
import { LEAST_CACHE_BYTES, MAX_PREFILL_TOKENS, countRowsTogether, cacheSlotBytes } from './generate/bounds.ts';
import { exactSlots, sameSlice } from './model/exactThreads.ts';
import { adapterParameterCount } from './model/lora.ts';
import { parameterCount } from './model/model.ts';
import { parameterSpecs, type AdapterSettings, type TransformerConfig } from './model/transformer.ts';
import { headChunks, roundUp, TIME_MULTIPLE } from './train/graph/pack.ts';

export interface GenerationDemand {
  /** Number of messages. `prompts` is the number of distinct prompts. */
  readonly rows: number;
  readonly prompts: number;
  /** Tokens of the longest prompt. */
  readonly promptTokens: number;
  readonly newTokens: number;
}

/** Contexts of one step that are scored and trained on. */
export interface ContextDemand {
  readonly contexts: number;
  /** Messages of each context. */
  readonly messages: number;
  readonly promptTokens: number;
  readonly newTokens: number;
}

export interface TrainingDemand {
  /** Settings of the trained adapters, or null if the whole model is trained. */
  readonly adapter: AdapterSettings | null;
  /** Number of adapters that are trained. */
  readonly adapters: number;
  readonly microBatchTokens: number;
  readonly recompute: boolean;
  /** True if a KL penalty compares whole distributions. */
  readonly exact?: boolean;
  readonly contexts: readonly ContextDemand[];
}

export interface MemoryDemand {
  readonly config: TransformerConfig;
  /** Element type of weights that are not trained. */
  readonly precision: Precision;
  /** True if graphs compute in the own memory of an accelerator. */
  readonly accelerated: boolean;
  /** One for each kind of call. The largest counts. */
  readonly generation: readonly GenerationDemand[];
  readonly training: TrainingDemand | null;
  /** Bytes that the key-value cache of a call may take; default LEAST_CACHE_BYTES. */
  readonly cacheBytes?: number;
}

/** Available bytes, or null if the system does not report them. */
export type AvailableMemory = Readonly<Record<MemoryPlace, number | null>>;

const FLOAT = Float32Array.BYTES_PER_ELEMENT;
const HALF = Uint16Array.BYTES_PER_ELEMENT;
/**
 * Number of matrices that are float32 at the same time if all are held in float16: one in a product,
 * and one that is prepared for the next.
 */
const WIDENED = 2;
/**
 * Bytes of program, store and compiled graphs without weights: the measured peak of runs of models
 * with 0.1 million parameters. Drivers of an accelerator add DRIVERS.
 */
const PROGRAM = 320e6;
const DRIVERS = 350e6;
/** Measured factor for the fragmentation of an arena: gaps between its tensors that fit nothing. */
const ARENA = 1.15;
/** Input slots of a scored micro-batch (MICRO_BATCH_TOKENS of the trainer). */
const SCORED_SLOTS = 2048;
/**
 * Arrays of logits in memory at the same time: in the output projection of a decoding step; with the
 * copy that is sampled from; and in the backward pass.
 */
const LOGITS_DECODING = 3;
const LOGITS_COPIES = 2;
const LOGITS_TRAINING = 3;
/**
 * Further arrays of logits for an exact KL: those of the other policy's graph, and probabilities,
 * differences and products. Measured.
 */
const LOGITS_EXACT = 6;
/** Number of graphs that hold tables of rotary positions. */
const TABLE_HOLDERS = 7;
/** Sets of weights of a full training: the reference, the sampling one, and that of the next step. */
const FULL_SETS = 3;
/** Vocabulary above which the gradient of embeddings is a scatter into a new array (ops/gather.ts). */
const PRODUCT_ROWS = 1024;

/** Numbers per input slot of one layer. */
interface LayerCost {
  /** Kept for the backward pass. */
  readonly kept: number;
  /** In memory for a moment of the forward pass. `backward` is the same for the backward pass. */
  readonly forward: number;
  readonly backward: number;
}

/**
 * Counts the numbers of one layer as decoder.ts computes it. Kept: the inputs of each matrix product,
 * normalization and the gated unit (hidden states around both blocks and their cotangents, queries
 * before and after transposition, attention's result likewise, the four arrays of the gated unit) and
 * attention's exponentials. Not kept: the larger of attention's scores and the gated unit. The
 * coefficients were set by measuring gradient graphs of 4 and 8 layers at 128 and 496 slots a row.
 */
function layerCost(config: TransformerConfig, time: number): LayerCost {
  const { hiddenSize, intermediateSize, heads, keyValueHeads, headDim } = config;
  const [queries, keys] = [heads * headDim, keyValueHeads * headDim];
  const scores = heads * time;
  const normed = config.queryKeyNorm === true ? queries + keys : 0;
  return {
    kept: 5 * hiddenSize + 4 * queries + 2 * keys + 4 * intermediateSize + scores + normed,
    forward: Math.max(2 * scores + 3 * queries + hiddenSize, 3 * intermediateSize + 2 * hiddenSize),
    backward: Math.max(3 * scores + 3 * queries, 4 * intermediateSize + 6 * hiddenSize + 6 * queries),
  };
}

/** Returns the numbers of the masks per slot, repeated for the heads of a group. */
const maskCost = ({ heads, keyValueHeads }: TransformerConfig, time: number): number =>
  2 * (heads / keyValueHeads) * time;

/** Returns the bytes of a generation call: cache, prefill and decoding. */
function generationBytes(
  config: TransformerConfig,
  { rows, prompts, promptTokens, newTokens }: GenerationDemand,
  cacheBytes = LEAST_CACHE_BYTES,
): { cache: number; prefill: number; decoding: number } {
  const bytes = cacheSlotBytes(config);
  const slots = promptTokens + newTokens;
  const capacity = countRowsTogether(config, rows, slots, cacheBytes);
  const time = roundUp(promptTokens, TIME_MULTIPLE);
  const read = Math.min(prompts, capacity, Math.max(1, Math.floor(MAX_PREFILL_TOKENS / promptTokens)));
  const prefillSlots = read * time;
  const logits = FLOAT * config.vocabularySize;
  return {
    cache: capacity * roundUp(slots, TIME_MULTIPLE) * bytes,
    // The graph returns keys and values as copies.
    prefill:
      ARENA * prefillSlots * (FLOAT * (layerCost(config, time).forward + maskCost(config, time)) + bytes) +
      prefillSlots * bytes +
      (LOGITS_DECODING + 1) * Math.max(2, read) * logits,
    decoding: (LOGITS_DECODING + LOGITS_COPIES) * capacity * logits,
  };
}

interface MicroBatchShape {
  readonly slots: number;
  /** Slots of the longest row. */
  readonly time: number;
  readonly targets: number;
}

/**
 * Returns an upper bound of the micro-batches that packContexts makes. A row holds a context with as
 * many of its messages as exactness allows.
 */
export function largestMicroBatch(
  config: TransformerConfig,
  contexts: readonly ContextDemand[],
  maxSlots: number,
): MicroBatchShape {
  const slice = exactSlots(config);
  let [time, total, targets, share] = [0, 0, 0, 0];
  for (const { contexts: count, messages, promptTokens, newTokens } of contexts) {
    let together = 1;
    while (
      together < messages &&
      sameSlice(slice, promptTokens - 1, promptTokens - 1 + (together + 1) * newTokens - 1)
    ) {
      together++;
    }
    const alone = roundUp(promptTokens - 1 + newTokens, TIME_MULTIPLE);
    const row = roundUp(promptTokens - 1 + together * newTokens, TIME_MULTIPLE);
    // A shorter prompt may leave room for another message, up to the end of the slice.
    const filled =
      together === messages
        ? row
        : Math.max(
            row,
            roundUp(
              Math.min(promptTokens - 1 + messages * newTokens, slice * Math.ceil(promptTokens / slice)),
              TIME_MULTIPLE,
            ),
          );
    time = Math.max(time, alone, filled);
    total += count * Math.ceil(messages / together) * filled;
    targets += count * messages * newTokens;
    share = Math.max(share, (together * newTokens) / row);
  }
  const slots = Math.min(time * Math.max(1, Math.floor(maxSlots / time)), total);
  return { slots, time, targets: Math.max(2, Math.min(targets, Math.ceil(share * slots))) };
}

/** Returns the number of chunks of the output projection, and the bytes of the logits of one chunk. */
function headChunkBytes(
  { vocabularySize }: TransformerConfig,
  targets: number,
): { readonly chunks: number; readonly bytes: number } {
  const chunks = headChunks(targets, vocabularySize);
  return { chunks, bytes: LOGITS_TRAINING * Math.ceil(targets / chunks) * vocabularySize * FLOAT };
}

function scoringBytes(config: TransformerConfig, contexts: readonly ContextDemand[]): number {
  const { slots, time, targets } = largestMicroBatch(config, contexts, SCORED_SLOTS);
  const passing = slots * FLOAT * (layerCost(config, time).forward + maskCost(config, time));
  return ARENA * Math.max(passing, headChunkBytes(config, targets).bytes);
}

/** Returns the bytes of the gradient graph: kept and transient activations, and logits. */
function gradientGraphBytes(
  config: TransformerConfig,
  { microBatchTokens, recompute, contexts }: TrainingDemand,
): { activations: number; logits: number } {
  const { slots, time, targets } = largestMicroBatch(config, contexts, microBatchTokens);
  const { kept, forward, backward } = layerCost(config, time);
  // Recomputing keeps the hidden states between layers, and for a moment the activations of one layer
  // twice.
  const stays = recompute ? 2 * config.layers * config.hiddenSize + kept + forward : config.layers * kept;
  const logits = headChunkBytes(config, targets).bytes;
  // Logits are freed before the backward pass reaches the layers.
  const passes = Math.max(0, slots * FLOAT * backward - logits);
  return { activations: ARENA * (slots * FLOAT * (stays + maskCost(config, time)) + passes), logits: ARENA * logits };
}

/** Returns the bytes of whole distributions at the targets of a micro-batch. */
function exactBytes(config: TransformerConfig, { exact = false, microBatchTokens, contexts }: TrainingDemand): number {
  const { targets } = largestMicroBatch(config, contexts, microBatchTokens);
  return exact ? ARENA * LOGITS_EXACT * targets * config.vocabularySize * FLOAT : 0;
}

/**
 * Returns the numbers of the embedding and output tables that a backward pass allocates in addition to
 * the gradients that it returns.
 */
function extraTables(config: TransformerConfig, { adapter, microBatchTokens, contexts }: TrainingDemand): number {
  if (adapter !== null || config.vocabularySize <= PRODUCT_ROWS) {
    return 0;
  }
  const { targets } = largestMicroBatch(config, contexts, microBatchTokens);
  return (headChunkBytes(config, targets).chunks > 1 ? 2 : 1) * config.vocabularySize * config.hiddenSize;
}

/** Returns the bytes of the tables of positions in all graphs. They depend only on config.json. */
export const tableBytes = ({ maxPositions, headDim }: TransformerConfig): number =>
  TABLE_HOLDERS * maxPositions * headDim * FLOAT;

/**
 * Plans the memory of a run or of a smaller task.
 * @returns a plan without advice; see `listSavings`
 */
export function planMemory(demand: MemoryDemand, available: AvailableMemory): MemoryPlan {
  const { config, precision, accelerated, generation, training, cacheBytes } = demand;
  const work: MemoryPlace = accelerated ? 'device' : 'host';
  const weights = (precision === 'float16' ? HALF : FLOAT) * parameterCount(config);
  const full = training !== null && training.adapter === null;
  const trained =
    training === null
      ? 0
      : training.adapter === null
        ? weights
        : FLOAT * training.adapters * adapterParameterCount(config, training.adapter);
  const sets = full ? FULL_SETS : 1;
  // An adapter has as many sets of its own; they are small.
  const held = sets * weights + (full ? 0 : FULL_SETS * trained);
  const calls = generation.map((call) => generationBytes(config, call, cacheBytes));
  const most = (part: 'cache' | 'prefill' | 'decoding'): number => Math.max(0, ...calls.map((call) => call[part]));
  const tables = tableBytes(config);
  const items: MemoryItem[] = [];
  const put = (name: string, place: MemoryPlace, bytes: number, advice: string | null = null): void => {
    if (bytes > 0) {
      items.push({ name, place, bytes: Math.round(bytes), advice });
    }
  };
  put('Program and store', 'host', PROGRAM + (accelerated ? DRIVERS : 0));
  put('Tables of positions', work, tables);
  put(
    sets === 1 ? `Weights (${precision})` : `Weights (float32): ${sets} sets`,
    work,
    held,
    full
      ? 'An adapter keeps one set of the weights; full training keeps three: the reference, the one that samples, the one that a step makes.'
      : null,
  );
  if (precision === 'float16' && !accelerated) {
    put('Weights converted to float32 for a product', work, WIDENED * FLOAT * largestMatrix(config));
  }
  if (accelerated) {
    put('Copies of weights for loading and saving', 'host', held + 2 * trained);
  }
  put(
    'Key-value cache',
    work,
    countCaches(accelerated) * most('cache'),
    'Fewer new tokens and shorter prompts need less.',
  );
  // With an adapter, the graphs without one stay in memory too, from the evaluation of the plain model.
  put(
    'Generation',
    work,
    (training === null || full ? 1 : 2) * (most('prefill') + most('decoding')),
    'evaluation.batch and instances_per_step bound how many messages are generated together.',
  );
  if (training !== null) {
    const { activations, logits } = gradientGraphBytes(config, training);
    put('Scoring', work, scoringBytes(config, training.contexts));
    put(
      'Activations of training',
      work,
      activations,
      training.recompute
        ? 'A smaller memory.micro_batch_tokens needs less.'
        : 'memory.recompute: true computes them again instead of keeping them; a smaller memory.micro_batch_tokens needs less.',
    );
    put('Logits of training', work, logits);
    put('Distributions of the exact KL', work, exactBytes(config, training), 'kl_estimator: k3 needs none.');
    // The sums so far, their start at zero, the new sums, and a copy of these as they leave the graph.
    put(
      'Gradients',
      work,
      (accelerated ? 3 : 4) * trained + FLOAT * extraTables(config, training),
      full ? 'An adapter has far fewer.' : null,
    );
    put(
      'Optimizer',
      work,
      (accelerated ? 4 : 2) * trained,
      full ? 'An adapter needs it for its own factors only.' : null,
    );
  }
  const places: readonly MemoryPlace[] = accelerated ? ['device', 'host'] : ['host'];
  return { items, totals: places.map((place) => sumMemory(items, place, available[place])), advice: [] };
}

/** Number of caches at a time: a step of an accelerator returns a new cache beside the old one. */
const countCaches = (accelerated: boolean): number => (accelerated ? 2 : 1);

/**
 * Returns the bytes that the key-value cache may take: LEAST_CACHE_BYTES, and a share of the memory
 * that a plan leaves free.
 * @param plan made with LEAST_CACHE_BYTES; if it does not fit or free memory is unknown, nothing is
 *   added
 * @param accelerated as in the demand
 */
export function availableCacheBytes({ totals }: MemoryPlan, accelerated: boolean, share: number): number {
  const total = totals.find(({ place }) => place === (accelerated ? 'device' : 'host'));
  const left = Math.max(0, (total?.available ?? 0) - (total?.bytes ?? 0));
  return LEAST_CACHE_BYTES + Math.floor((share * left) / countCaches(accelerated));
}

const largestMatrix = (config: TransformerConfig): number =>
  Math.max(...parameterSpecs(config).map(({ shape }) => shape.reduce((product, dim) => product * dim, 1)));

function sumMemory(items: readonly MemoryItem[], place: MemoryPlace, available: number | null): MemoryTotal {
  const bytes = items.reduce((total, item) => (item.place === place ? total + item.bytes : total), 0);
  return { place, bytes, available, fits: available === null ? null : bytes <= available };
}

/** Returns the first place in which a plan does not fit, or null if it fits as far as is known. */
export const findLackingPlace = ({ totals }: MemoryPlan): MemoryTotal | null =>
  totals.find(({ fits }) => fits === false) ?? null;

/** A setting that could be changed, from a small to a large change. */
export interface Lever {
  /** `setting` is `key: value`; `demand` is the demand with that value. */
  readonly changes: readonly { readonly setting: string; readonly demand: MemoryDemand }[];
}

/** A saving below this share of the needed memory is not suggested. */
const WORTHWHILE = 0.01;

export interface Saving {
  readonly setting: string;
  readonly bytes: number;
  /** True if the plan fits with this setting alone. */
  readonly enough: boolean;
}

/**
 * Lists settings that would shrink a plan that does not fit. Tries each lever alone.
 * @returns the most effective first; of each lever its first change that is enough, else its last
 */
export function listSavings(
  demand: MemoryDemand,
  available: AvailableMemory,
  levers: readonly Lever[],
): readonly Saving[] {
  const short = findLackingPlace(planMemory(demand, available));
  if (short === null) {
    return [];
  }
  const tried = levers.flatMap(({ changes }) => {
    const results = changes.map(({ setting, demand: changed }): Saving => {
      const plan = planMemory(changed, available);
      const bytes = plan.totals.find(({ place }) => place === short.place)?.bytes ?? short.bytes;
      return { setting, bytes: short.bytes - bytes, enough: findLackingPlace(plan) === null };
    });
    return results.find(({ enough }) => enough) ?? results.at(-1) ?? [];
  });
  return tried.filter(({ bytes }) => bytes >= WORTHWHILE * short.bytes).sort((a, b) => b.bytes - a.bytes);
}

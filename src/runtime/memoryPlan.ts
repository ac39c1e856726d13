/**
 * What generation and training will need at most, counted from the graphs and from who holds which arrays. Every
 * compiled graph keeps the working memory of its largest call (ONNX Runtime's arenas never shrink), so what graphs need
 * adds up.
 */
import type { Precision } from '../shared/devices.ts';
import type { MemoryItem, MemoryPlace, MemoryPlan, MemoryTotal } from '../shared/models.ts';
import { LEAST_CACHE_BYTES, MAX_PREFILL_TOKENS, rowsTogether, slotBytes } from './generate/bounds.ts';
import { exactSlots, sameSlice } from './model/exactThreads.ts';
import { adapterParameterCount } from './model/lora.ts';
import { parameterCount } from './model/model.ts';
import { parameterSpecs, type AdapterSettings, type TransformerConfig } from './model/transformer.ts';
import { headChunks, roundUp, TIME_MULTIPLE } from './train/graph/pack.ts';

/** Prompts that are answered together. */
export interface GenerationDemand {
  /** Messages, and how many different prompts they answer. */
  readonly rows: number;
  readonly prompts: number;
  /** Of the longest. */
  readonly promptTokens: number;
  readonly newTokens: number;
}

/** Contexts of one step that are scored and trained on. */
export interface ContextDemand {
  readonly contexts: number;
  /** Of each context. */
  readonly messages: number;
  readonly promptTokens: number;
  readonly newTokens: number;
}

export interface TrainingDemand {
  /** What is trained; null for the whole model. */
  readonly adapter: AdapterSettings | null;
  /** Adapters that are trained side by side. */
  readonly adapters: number;
  readonly microBatchTokens: number;
  readonly recompute: boolean;
  /** Whether a KL penalty compares whole distributions. */
  readonly exact?: boolean;
  readonly contexts: readonly ContextDemand[];
}

export interface MemoryDemand {
  readonly config: TransformerConfig;
  /** What weights that are not trained are held in. */
  readonly precision: Precision;
  /** True where graphs compute in an accelerator's own memory. */
  readonly accelerated: boolean;
  /** One for each kind of call; the largest counts. */
  readonly generation: readonly GenerationDemand[];
  /** Null where nothing is trained. */
  readonly training: TrainingDemand | null;
  /** What the key-value cache of a call may take; LEAST_CACHE_BYTES unless given. */
  readonly cacheBytes?: number;
}

/** Bytes that there are; null where the system does not say. */
export type AvailableMemory = Readonly<Record<MemoryPlace, number | null>>;

const FLOAT = Float32Array.BYTES_PER_ELEMENT;
const HALF = Uint16Array.BYTES_PER_ELEMENT;
/**
 * Matrices that are float32 at the same time where all are held in float16: the one of a product and the one made ready
 * for the next.
 */
const WIDENED = 2;
/**
 * Program, store and compiled graphs without any weights, measured as the peak of runs of models of 0.1 million
 * parameters; drivers of an accelerator come on top.
 */
const PROGRAM = 320e6;
const DRIVERS = 350e6;
/** What an arena takes beyond the tensors in it: pieces between them that fit nothing. Measured. */
const ARENA = 1.15;
/** Micro-batches are scored with this many input slots (MICRO_BATCH_TOKENS of the trainer). */
const SCORED_SLOTS = 2048;
/**
 * Arrays of logits that are there at once: in the output projection of a decoding step; with the copy that is sampled
 * from; and in the backward pass.
 */
const LOGITS_DECODING = 3;
const LOGITS_COPIES = 2;
const LOGITS_TRAINING = 3;
/** More of an exact KL: those of the other policy's graph, and probabilities, differences and products. Measured. */
const LOGITS_EXACT = 6;
/** Graphs that hold tables of rotary positions. */
const TABLE_HOLDERS = 7;
/** Sets of weights of a full training: the reference, the one that samples, the one that a step makes. */
const FULL_SETS = 3;
/**
 * Vocabularies above this get the gradient of their embeddings by a scatter into an array of its own (ops/gather.ts).
 */
const PRODUCT_ROWS = 1024;

/** Numbers per input slot of one layer. */
interface LayerCost {
  /** Kept for the backward pass. */
  readonly kept: number;
  /** There for a moment in a forward pass, and in a backward pass. */
  readonly forward: number;
  readonly backward: number;
}

/**
 * Counted along decoder.ts. Kept: what each matrix product, normalisation and the gated unit read (hidden states around
 * both blocks and their cotangents, queries before and after transposition, attention's result likewise, the four
 * arrays of the gated unit) and attention's exponentials. What passes is the most of either attention's scores or the
 * gated unit. Coefficients were set by measuring gradient graphs of 4 and 8 layers at 128 and 496 slots a row.
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

/** Bias and visibility of every slot for every other, repeated for the heads of a group: numbers per slot. */
const maskCost = ({ heads, keyValueHeads }: TransformerConfig, time: number): number =>
  2 * (heads / keyValueHeads) * time;

/** Bytes of a generation call: rows that fit, their cache, and what prefill and decoding pass through. */
function generationBytes(
  config: TransformerConfig,
  { rows, prompts, promptTokens, newTokens }: GenerationDemand,
  cacheBytes = LEAST_CACHE_BYTES,
): { cache: number; prefill: number; decoding: number } {
  const bytes = slotBytes(config);
  const slots = promptTokens + newTokens;
  const capacity = rowsTogether(config, rows, slots, cacheBytes);
  const time = roundUp(promptTokens, TIME_MULTIPLE);
  const read = Math.min(prompts, capacity, Math.max(1, Math.floor(MAX_PREFILL_TOKENS / promptTokens)));
  const prefillSlots = read * time;
  const logits = FLOAT * config.vocabularySize;
  return {
    cache: capacity * roundUp(slots, TIME_MULTIPLE) * bytes,
    // Keys and values come out of the graph as copies.
    prefill:
      ARENA * prefillSlots * (FLOAT * (layerCost(config, time).forward + maskCost(config, time)) + bytes) +
      prefillSlots * bytes +
      (LOGITS_DECODING + 1) * Math.max(2, read) * logits,
    decoding: (LOGITS_DECODING + LOGITS_COPIES) * capacity * logits,
  };
}

/** The largest micro-batch of some contexts. */
interface MicroBatchShape {
  readonly slots: number;
  /** Slots of its longest row. */
  readonly time: number;
  readonly targets: number;
}

/** As of packContexts, at most; a row holds a context with as many of its messages as exactness allows. */
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

/** Logits that are in work at once, of all targets or of one run through the output projection. */
function headBytes(
  { vocabularySize }: TransformerConfig,
  targets: number,
): { readonly chunks: number; readonly bytes: number } {
  const chunks = headChunks(targets, vocabularySize);
  return { chunks, bytes: LOGITS_TRAINING * Math.ceil(targets / chunks) * vocabularySize * FLOAT };
}

/** Bytes that scoring's graph takes. */
function scoringBytes(config: TransformerConfig, contexts: readonly ContextDemand[]): number {
  const { slots, time, targets } = largestMicroBatch(config, contexts, SCORED_SLOTS);
  const passing = slots * FLOAT * (layerCost(config, time).forward + maskCost(config, time));
  return ARENA * Math.max(passing, headBytes(config, targets).bytes);
}

/** Bytes of the gradient graph: what is kept for the backward pass, what passes through, the logits. */
function gradientGraphBytes(
  config: TransformerConfig,
  { microBatchTokens, recompute, contexts }: TrainingDemand,
): { activations: number; logits: number } {
  const { slots, time, targets } = largestMicroBatch(config, contexts, microBatchTokens);
  const { kept, forward, backward } = layerCost(config, time);
  // Recomputing keeps the hidden states between layers, and one layer's activations twice for a moment.
  const stays = recompute ? 2 * config.layers * config.hiddenSize + kept + forward : config.layers * kept;
  const logits = headBytes(config, targets).bytes;
  // Logits are gone when the backward pass comes to the layers.
  const passes = Math.max(0, slots * FLOAT * backward - logits);
  return { activations: ARENA * (slots * FLOAT * (stays + maskCost(config, time)) + passes), logits: ARENA * logits };
}

/** Bytes of whole distributions at the targets of a micro-batch. */
function exactBytes(config: TransformerConfig, { exact = false, microBatchTokens, contexts }: TrainingDemand): number {
  const { targets } = largestMicroBatch(config, contexts, microBatchTokens);
  return exact ? ARENA * LOGITS_EXACT * targets * config.vocabularySize * FLOAT : 0;
}

/** Numbers of the embedding and output tables that a backward pass makes beside the gradients that it gives. */
function extraTables(config: TransformerConfig, { adapter, microBatchTokens, contexts }: TrainingDemand): number {
  if (adapter !== null || config.vocabularySize <= PRODUCT_ROWS) {
    return 0;
  }
  const { targets } = largestMicroBatch(config, contexts, microBatchTokens);
  return (headBytes(config, targets).chunks > 1 ? 2 : 1) * config.vocabularySize * config.hiddenSize;
}

/** What the tables of positions take in all graphs: sized by config.json alone, whatever the weights are. */
export const tableBytes = ({ maxPositions, headDim }: TransformerConfig): number =>
  TABLE_HOLDERS * maxPositions * headDim * FLOAT;

/**
 * The plan of a run or of a smaller piece of work.
 * @returns without advice; see `advise`
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
  // An adapter's own sets are as many, and small.
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
    put('Weights, as they are read and stored', 'host', held + 2 * trained);
  }
  put('Key-value cache', work, caches(accelerated) * most('cache'), 'Fewer new tokens and shorter prompts need less.');
  // Graphs with an adapter are beside those without one, which evaluated the model as it came.
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
    // Sums so far, their start at zero, new sums, and these once more as they leave the graph.
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
  return { items, totals: places.map((place) => totalOf(items, place, available[place])), advice: [] };
}

/** Caches at the same time: an accelerator's step gives the enlarged cache beside the old one. */
const caches = (accelerated: boolean): number => (accelerated ? 2 : 1);

/**
 * What the key-value cache may take: as much as always, and a share of the memory that a plan leaves.
 * @param plan made with LEAST_CACHE_BYTES; where it does not fit, or where nobody knows, there is no more
 * @param accelerated as of the demand
 */
export function cacheRoom({ totals }: MemoryPlan, accelerated: boolean, share: number): number {
  const total = totals.find(({ place }) => place === (accelerated ? 'device' : 'host'));
  const left = Math.max(0, (total?.available ?? 0) - (total?.bytes ?? 0));
  return LEAST_CACHE_BYTES + Math.floor((share * left) / caches(accelerated));
}

const largestMatrix = (config: TransformerConfig): number =>
  Math.max(...parameterSpecs(config).map(({ shape }) => shape.reduce((product, dim) => product * dim, 1)));

function totalOf(items: readonly MemoryItem[], place: MemoryPlace, available: number | null): MemoryTotal {
  const bytes = items.reduce((total, item) => (item.place === place ? total + item.bytes : total), 0);
  return { place, bytes, available, fits: available === null ? null : bytes <= available };
}

/** The first place where a plan does not fit; null where it fits as far as anyone knows. */
export const lacking = ({ totals }: MemoryPlan): MemoryTotal | null =>
  totals.find(({ fits }) => fits === false) ?? null;

/** A setting that could be changed: from little to much. */
export interface Lever {
  /** `key: value`, and what the work would then ask for. */
  readonly changes: readonly { readonly setting: string; readonly demand: MemoryDemand }[];
}

/** Less than this share of what is needed is not worth a setting. */
const WORTHWHILE = 0.01;

/** What a setting would save. */
export interface Saving {
  readonly setting: string;
  readonly bytes: number;
  /** Whether the plan fits with it alone. */
  readonly enough: boolean;
}

/**
 * Which settings would make a plan smaller where it does not fit, found by trying each alone.
 * @returns the most effective first; of each lever its first change that is enough, else its last
 */
export function savings(demand: MemoryDemand, available: AvailableMemory, levers: readonly Lever[]): readonly Saving[] {
  const short = lacking(planMemory(demand, available));
  if (short === null) {
    return [];
  }
  const tried = levers.flatMap(({ changes }) => {
    const results = changes.map(({ setting, demand: changed }): Saving => {
      const plan = planMemory(changed, available);
      const bytes = plan.totals.find(({ place }) => place === short.place)?.bytes ?? short.bytes;
      return { setting, bytes: short.bytes - bytes, enough: lacking(plan) === null };
    });
    return results.find(({ enough }) => enough) ?? results.at(-1) ?? [];
  });
  return tried.filter(({ bytes }) => bytes >= WORTHWHILE * short.bytes).sort((a, b) => b.bytes - a.bytes);
}

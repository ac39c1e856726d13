/** Packs training data into rows: a context, followed by its messages as separate segments. */

import type { Tensor } from 'onnxruntime-node';
import { C3Error } from '../../../shared/errors.ts';
import { exactSlots, sameSlice } from '../../model/exactThreads.ts';
import { checkTokens, type TransformerConfig } from '../../model/transformer.ts';
import { floatTensor, int32Tensor, int64Tensor } from '../../session/session.ts';

export interface TrainingMessage {
  readonly tokens: Int32Array;
  /**
   * Log-probability of each token when it was sampled. `reference` has those under the reference policy.
   * With `advantages`, all three are unused for supervised training.
   */
  readonly behaviour: Float32Array;
  readonly reference: Float32Array;
  readonly advantages: Float32Array;
  /**
   * Weight of each token in the loss. Undefined: all tokens of the step have the same weight. If it is
   * 0, `reference` is unused, and a micro-batch without other messages is not computed.
   */
  readonly weight?: number;
  /** Number of equal messages that this one represents, each of which counts; default 1. */
  readonly copies?: number;
}

/** Counts the tokens of some contexts, including those of every copy. */
export const countContextTokens = (contexts: readonly TrainingContext[]): number =>
  contexts.reduce(
    (total, { messages }) => messages.reduce((sum, { tokens, copies = 1 }) => sum + copies * tokens.length, total),
    0,
  );

/** A context with the messages that answered it. */
export interface TrainingContext {
  /** The role that answered, which may have its own adapter. Undefined: the weights of the team. */
  readonly role?: string;
  /** The node of the rollout tree, if there is one. */
  readonly node?: string;
  readonly prompt: Int32Array;
  readonly messages: readonly TrainingMessage[];
}

/** The place of a message's targets in a micro-batch. */
interface Placement {
  readonly context: number;
  readonly message: number;
  readonly start: number;
}

export interface MicroBatch {
  readonly feeds: Readonly<Record<string, Tensor>>;
  readonly placements: readonly Placement[];
  readonly targets: number;
  /** Number of input slots. `padding` is the number of slots that hold padding. */
  readonly slots: number;
  readonly padding: number;
}

/** A context with some of its messages, by their indices. */
interface PackedRow {
  readonly context: number;
  readonly messages: readonly number[];
  readonly length: number;
}

/** The length of a row is a multiple of this, so that vector instructions have no remainder. */
export const TIME_MULTIPLE = 8;
/** Largest share of padding that a new row may add to a micro-batch that is at least half full. */
const TOLERATED_PADDING = 0.15;

/** Bytes of the logits of one chunk. The backward pass has about three such arrays at a time. */
const CHUNK_BYTES = 64 * 2 ** 20;

/**
 * Returns the number of chunks in which the targets of a micro-batch go through the output
 * projection: the smallest power of two with at most 64 MiB of logits in each chunk. All but small
 * micro-batches have the same number, because every further graph keeps memory of its own. Each
 * chunk has at least two targets.
 * @param most targets of the largest micro-batch of the step
 */
export function headChunks(targets: number, vocabularySize: number, most = targets): number {
  let chunks = 1;
  while (
    Math.ceil(Math.max(most, targets) / chunks) * vocabularySize * Float32Array.BYTES_PER_ELEMENT > CHUNK_BYTES &&
    targets >= 4 * chunks
  ) {
    chunks *= 2;
  }
  return chunks;
}

/** Returns the targets of the largest micro-batch, which selects the graph of all (see headChunks). */
export const largestTargetCount = (batches: readonly Pick<MicroBatch, 'targets'>[]): number =>
  batches.reduce((most, { targets }) => Math.max(most, targets), 0);

export const roundUp = (value: number, multiple: number): number => Math.ceil(value / multiple) * multiple;

/** Returns the total weight of the tokens of some contexts, or 1 if no message has a weight. */
export function sumTokenWeights(contexts: readonly TrainingContext[]): number {
  const messages = contexts.flatMap((context) => context.messages);
  return messages.every(({ weight }) => weight === undefined)
    ? 1
    : messages.reduce((sum, { tokens, weight = 0, copies = 1 }) => sum + copies * weight * tokens.length, 0);
}

/**
 * Checks that contexts can be scored.
 * @throws C3Error('input') for an empty prompt or message, too many positions or an unknown token
 */
export function checkContexts(config: TransformerConfig, contexts: readonly TrainingContext[]): void {
  contexts.forEach(({ prompt, messages }, index) => {
    const place = `Training context ${index}`;
    checkTokens(config, prompt, place);
    for (const { tokens } of messages) {
      checkMessage(config, prompt, tokens, place);
    }
  });
}

/**
 * Checks that a message can be scored after its prompt.
 * @throws C3Error('input') if it cannot
 */
export function checkMessage(config: TransformerConfig, prompt: Int32Array, tokens: Int32Array, place: string): void {
  if (prompt.length === 0 || tokens.length === 0) {
    throw new C3Error('input', `${place} has an empty prompt or message; give each at least one token.`);
  }
  // The last token is predicted, never read.
  const needed = prompt.length + tokens.length - 1;
  if (needed > config.maxPositions) {
    throw new C3Error(
      'input',
      `${place} needs ${needed} positions where the model has ${config.maxPositions}; shorten it.`,
    );
  }
  checkTokens(config, tokens, place);
}

/**
 * Lays out rows: a context without its last token, then for each message this last token and the
 * message without its own last token. Every target is thus predicted at a slot of its own, and a
 * context is read once for all its messages. A message that is not the first has other slots than when
 * it was sampled. That changes no bit while the slots are in the same slice of attention's sums (see
 * exactSlots), so messages share a row only within a slice.
 */
function layOutRows(config: TransformerConfig, contexts: readonly TrainingContext[]): PackedRow[] {
  const slice = exactSlots(config);
  return contexts.flatMap(({ prompt, messages }, context) => {
    const rows: { context: number; messages: number[]; length: number }[] = [];
    messages.forEach(({ tokens }, message) => {
      const row = rows.at(-1);
      if (row !== undefined && sameSlice(slice, prompt.length - 1, row.length + tokens.length - 1)) {
        row.messages.push(message);
        row.length += tokens.length;
      } else {
        rows.push({ context, messages: [message], length: prompt.length - 1 + tokens.length });
      }
    });
    return rows;
  });
}

/**
 * Packs contexts into micro-batches of at most maxTokens input slots, with rows of similar length
 * together (longest first; ties in the given order). Every target has `weight` in the loss, or the
 * weight of its message.
 */
export function packContexts(
  config: TransformerConfig,
  contexts: readonly TrainingContext[],
  maxTokens: number,
  weight: number,
): MicroBatch[] {
  const rows = layOutRows(config, contexts);
  const order = rows.map((_, index) => index).sort((a, b) => (rows[b]?.length ?? 0) - (rows[a]?.length ?? 0) || a - b);
  const batches: PackedRow[][] = [];
  let time = 0;
  for (const index of order) {
    const row = rows[index];
    if (row === undefined) {
      continue;
    }
    const current = batches.at(-1);
    const filled = (current?.length ?? 0) * time;
    const uneven = 2 * filled >= maxTokens && row.length < (1 - TOLERATED_PADDING) * time;
    if (current === undefined || filled + time > maxTokens || uneven) {
      batches.push([row]);
      time = roundUp(row.length, TIME_MULTIPLE);
    } else {
      current.push(row);
    }
  }
  return batches.map((members) => packBatch(contexts, members, weight));
}

function packBatch(contexts: readonly TrainingContext[], members: readonly PackedRow[], weight: number): MicroBatch {
  const time = roundUp(Math.max(...members.map(({ length }) => length)), TIME_MULTIPLE);
  const slots = members.length * time;
  const tokens = new Int32Array(slots);
  const positions = new BigInt64Array(slots);
  const segments = new Int32Array(slots).fill(-1);
  const selected: number[] = [];
  const targets: number[] = [];
  const columns = { behaviour: [] as number[], reference: [] as number[], advantages: [] as number[] };
  const weights: number[] = [];
  const placements: Placement[] = [];
  let used = 0;
  members.forEach((row, index) => {
    const prompt = contexts[row.context]?.prompt ?? new Int32Array();
    let slot = index * time;
    const put = (token: number, position: number, segment: number): void => {
      tokens[slot] = token;
      positions[slot] = BigInt(position);
      segments[slot] = segment;
      slot++;
      used++;
    };
    for (let position = 0; position < prompt.length - 1; position++) {
      put(prompt[position] ?? 0, position, 0);
    }
    row.messages.forEach((number, segment) => {
      const message = contexts[row.context]?.messages[number];
      if (message === undefined) {
        return;
      }
      placements.push({ context: row.context, message: number, start: targets.length });
      message.tokens.forEach((token, offset) => {
        selected.push(slot);
        targets.push(token);
        weights.push((message.copies ?? 1) * (message.weight ?? weight));
        for (const column of ['behaviour', 'reference', 'advantages'] as const) {
          columns[column].push(message[column][offset] ?? 0);
        }
        put((offset === 0 ? prompt.at(-1) : message.tokens[offset - 1]) ?? 0, prompt.length - 1 + offset, segment + 1);
      });
    });
  });
  const real = targets.length;
  // At least two targets: a matrix product of one row uses another kernel. The second target has weight
  // 0.
  if (real === 1) {
    selected.push(selected[0] === 0 ? 1 : 0);
    targets.push(0);
    for (const column of [weights, ...Object.values(columns)]) {
      column.push(0);
    }
  }
  const inverse = new Int32Array(slots).fill(selected.length);
  selected.forEach((slot, place) => (inverse[slot] = place));
  const column = (values: readonly number[]): Tensor => floatTensor(Float32Array.from(values), [values.length, 1]);
  return {
    feeds: {
      ...rowFeeds(tokens, positions, segments, members.length, time),
      selected: int32Tensor(Int32Array.from(selected), [selected.length]),
      inverse: int32Tensor(inverse, [slots]),
      targets: int32Tensor(Int32Array.from(targets), [targets.length, 1]),
      weights: column(weights),
      behaviour: column(columns.behaviour),
      reference: column(columns.reference),
      advantages: column(columns.advantages),
    },
    placements,
    targets: real,
    slots,
    padding: slots - used,
  };
}

/**
 * Returns the assignment of targets to messages, [messages, targets]: `members` is 1 for the targets
 * of a message, `shares` is their weight in the ratio of the message.
 * @param mean true if the shares of a message add up to 1, instead of being 1 each
 */
export function memberFeeds(
  { placements, feeds }: Pick<MicroBatch, 'placements' | 'feeds'>,
  contexts: readonly TrainingContext[],
  mean: boolean,
): Record<string, Tensor> {
  const targets = feeds['targets']?.dims[0] ?? 0;
  const [members, shares] = [
    new Float32Array(placements.length * targets),
    new Float32Array(placements.length * targets),
  ];
  placements.forEach(({ context, message, start }, row) => {
    const length = contexts[context]?.messages[message]?.tokens.length ?? 0;
    const [from, to] = [row * targets + start, row * targets + start + length];
    members.fill(1, from, to);
    shares.fill(mean ? 1 / length : 1, from, to);
  });
  const shape = [placements.length, targets];
  return { members: floatTensor(members, shape), shares: floatTensor(shares, shape) };
}

/** Makes the inputs of `packedInputs`. */
export function rowFeeds(
  tokens: Int32Array,
  positions: BigInt64Array,
  segments: Int32Array,
  rows: number,
  time: number,
): Record<string, Tensor> {
  return {
    tokens: int32Tensor(tokens, [rows, time]),
    positions: int64Tensor(positions, [rows * time, 1]),
    segments: int32Tensor(segments, [rows, time]),
    slots: int32Tensor(
      Int32Array.from({ length: time }, (_, slot) => slot),
      [time],
    ),
    ones: floatTensor(new Float32Array(2 * time).fill(1), [time, 2]),
  };
}

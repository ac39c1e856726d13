/** Packing training data into rows: one shared context per row, followed by its messages as separate segments. */
import type { Tensor } from 'onnxruntime-node';
import { C3Error } from '../shared/errors.ts';
import { counting, roundUp } from './generate.ts';
import { floats, longs } from './session.ts';
import { checkTokens, type TransformerConfig } from './transformer.ts';

export interface TrainingMessage {
  readonly tokens: Int32Array;
  /** Per token: log-probability when it was sampled, under the reference policy, and the advantage; unused for supervised training. */
  readonly behaviour: Float32Array;
  readonly reference: Float32Array;
  readonly advantages: Float32Array;
}

/** One context with the messages that answered it. */
export interface TrainingContext {
  readonly prompt: Int32Array;
  readonly messages: readonly TrainingMessage[];
}

/** Where a message's targets lie in a micro-batch. */
interface Placement {
  readonly context: number;
  readonly message: number;
  readonly start: number;
}

export interface MicroBatch {
  readonly feeds: Readonly<Record<string, Tensor>>;
  readonly placements: readonly Placement[];
  readonly targets: number;
  /** Share of input slots that hold padding. */
  readonly padding: number;
}

const TIME_MULTIPLE = 16;

/** Input tokens of a context packed with its messages; each message's last token is a target only. */
export const packedLength = (context: TrainingContext): number =>
  context.messages.reduce((total, message) => total + message.tokens.length - 1, context.prompt.length);

/** @throws C3Error('input') when a context cannot be scored: an empty prompt or message, too many positions, an unknown token */
export function checkContexts(config: TransformerConfig, contexts: readonly TrainingContext[]): void {
  contexts.forEach(({ prompt, messages }, index) => {
    const place = `Training context ${String(index)}`;
    checkTokens(config, prompt, place);
    for (const { tokens } of messages) {
      if (prompt.length === 0 || tokens.length === 0) throw new C3Error('input', `${place} has an empty prompt or message; give each at least one token.`);
      // The last token is predicted, never read.
      const needed = prompt.length + tokens.length - 1;
      if (needed > config.maxPositions) {
        throw new C3Error('input', `${place} needs ${String(needed)} positions where the model has ${String(config.maxPositions)}; shorten it.`);
      }
      checkTokens(config, tokens, place);
    }
  });
}

/**
 * Micro-batches of at most maxTokens input slots, rows of similar length together (longest first; ties in the order given).
 * A context is never split. With `weight`, every target counts that much in the loss.
 */
export function packContexts(contexts: readonly TrainingContext[], maxTokens: number, weight: number): MicroBatch[] {
  const order = contexts.map((_, index) => index).sort((a, b) => length(contexts, b) - length(contexts, a) || a - b);
  const batches: number[][] = [];
  let time = 0;
  for (const index of order) {
    const current = batches.at(-1);
    if (current === undefined || (current.length + 1) * time > maxTokens) {
      batches.push([index]);
      time = roundUp(length(contexts, index), TIME_MULTIPLE);
    } else current.push(index);
  }
  return batches.map((members) => packBatch(contexts, members, weight));
}

const length = (contexts: readonly TrainingContext[], index: number): number => {
  const context = contexts[index];
  return context === undefined ? 0 : packedLength(context);
};

function packBatch(contexts: readonly TrainingContext[], members: readonly number[], weight: number): MicroBatch {
  const time = roundUp(Math.max(...members.map((index) => length(contexts, index))), TIME_MULTIPLE);
  const slots = members.length * time;
  const tokens = new BigInt64Array(slots);
  const positions = new BigInt64Array(slots);
  const segments = new BigInt64Array(slots).fill(-1n);
  const selected: bigint[] = [];
  const targets: bigint[] = [];
  const columns = { behaviour: [] as number[], reference: [] as number[], advantages: [] as number[] };
  const placements: Placement[] = [];
  let used = 0;
  members.forEach((contextIndex, row) => {
    const context = contexts[contextIndex];
    if (context === undefined) return;
    let slot = row * time;
    const put = (token: number, position: number, segment: number): void => {
      tokens[slot] = BigInt(token);
      positions[slot] = BigInt(position);
      segments[slot] = BigInt(segment);
      slot++;
      used++;
    };
    context.prompt.forEach((token, position) => {
      put(token, position, 0);
    });
    const lastOfPrompt = slot - 1;
    context.messages.forEach((message, messageIndex) => {
      placements.push({ context: contextIndex, message: messageIndex, start: targets.length });
      message.tokens.forEach((token, index) => {
        selected.push(BigInt(index === 0 ? lastOfPrompt : slot - 1));
        targets.push(BigInt(token));
        for (const column of ['behaviour', 'reference', 'advantages'] as const) columns[column].push(message[column][index] ?? 0);
        if (index < message.tokens.length - 1) put(token, context.prompt.length + index, messageIndex + 1);
      });
    });
  });
  // Two targets at least: a matrix product of one row takes another kernel. The copy weighs nothing.
  if (targets.length === 1) {
    selected.push(selected[0] ?? 0n);
    targets.push(targets[0] ?? 0n);
    for (const column of Object.values(columns)) column.push(column[0] ?? 0);
  }
  const real = placements.reduce((total, { context, message }) => total + (contexts[context]?.messages[message]?.tokens.length ?? 0), 0);
  const column = (values: readonly number[]): Tensor => floats(Float32Array.from(values), [values.length, 1]);
  return {
    feeds: {
      tokens: longs(tokens, [members.length, time]),
      positions: longs(positions, [members.length, time]),
      segments: longs(segments, [members.length, time]),
      slots: longs(counting(time), [time]),
      selected: longs(BigInt64Array.from(selected), [selected.length]),
      targets: longs(BigInt64Array.from(targets), [targets.length, 1]),
      weights: column(targets.map((_, index) => (index < real ? weight : 0))),
      behaviour: column(columns.behaviour),
      reference: column(columns.reference),
      advantages: column(columns.advantages),
    },
    placements,
    targets: real,
    padding: 1 - used / slots,
  };
}

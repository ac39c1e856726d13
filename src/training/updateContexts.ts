/** Which messages an update learns from: those with a signal, and of them one mini-batch. */
import type { TrainingContext, TrainingMessage } from '../runtime/train/graph/pack.ts';
import type { LearningGroup } from './advantages.ts';
import type { MiniBatch } from './methods/method.ts';
import { shuffled } from './shuffled.ts';

/** Whether a message's advantages say anything: its credit is not 0. */
export const hasSignal = ({ advantages }: Pick<TrainingMessage, 'advantages'>): boolean =>
  advantages.some((advantage) => advantage !== 0);

/** The share of tokens whose message has a credit other than 0, of all that have one; null where none has. */
export function signalShare(groups: readonly Pick<LearningGroup, 'messages'>[]): number | null {
  const credited = groups.flatMap(({ messages }) => messages.filter(({ credit }) => credit !== null));
  const tokensOf = (messages: LearningGroup['messages']): number =>
    messages.reduce((sum, { tokens }) => sum + tokens.length, 0);
  return credited.length === 0 ? null : tokensOf(credited.filter(({ credit }) => credit !== 0)) / tokensOf(credited);
}

/**
 * The contexts without the messages that teach nothing: with an advantage of 0 for every token, the gradient of
 * min(r A, clip(r) A) is 0 at any ratio. One message of each role stays all the same, so that its optimizer takes the
 * step that its moments ask for. What the others count has to be known before: they are as many as they were.
 */
export function withSignal(contexts: readonly TrainingContext[]): TrainingContext[] {
  const teaching = contexts.flatMap((context) => {
    const messages = context.messages.filter(hasSignal);
    return messages.length === 0 ? [] : [{ ...context, messages }];
  });
  const taught = new Set(teaching.map(({ role }) => role));
  const others = [...Map.groupBy(contexts, ({ role }) => role)].flatMap(([role, [first]]) =>
    taught.has(role) || first === undefined ? [] : [{ ...first, messages: first.messages.slice(0, 1) }],
  );
  return [...teaching, ...others];
}

/**
 * The contexts of a mini-batch: the pass goes through all of them in a random order, each whole, so that a prompt is
 * read once and messages stay beside those that they were compared with.
 */
export function miniBatchOf<Context>(
  contexts: readonly Context[],
  { index, of, count = 1, draw }: MiniBatch,
): Context[] {
  const order = shuffled([...contexts.keys()], draw);
  const edge = (number: number): number => Math.floor((number * contexts.length) / of);
  const members = new Set(order.slice(edge(index), edge(index + count)));
  return contexts.filter((_, place) => members.has(place));
}

/**
 * Contexts in a table, whose credits are known: texts with a probability and a chance of success each, played on shared
 * or separate streams.
 */

import { openStream, uniform, type Stream } from '../../../src/credit/counter.ts';
import type { CreditPool, PoolBucket, PoolMember, PoolResult } from '../../../src/shared/credit/creditPool.ts';

/** Numbers in [0, 1), one after the other. */
export class Numbers {
  private readonly stream: Stream;
  private position = 0;

  constructor(seed: number, index: number) {
    this.stream = openStream(seed, index);
  }

  next(): number {
    return uniform(this.stream, this.position++);
  }
}

export interface Tabular {
  readonly seed: number;
  /** Probability and chance of success of every text. */
  readonly weights: readonly number[];
  readonly chances: readonly number[];
  /** How often texts share the chance of a stream: 1 is perfectly paired. */
  readonly shared: number;
}

/** Two to six texts; some always win or always lose. */
export function tabular(numbers: Numbers, seed: number): Tabular {
  const count = 2 + Math.floor(numbers.next() * 5);
  const raw = Array.from({ length: count }, () => -Math.log(1 - numbers.next()));
  const total = raw.reduce((sum, value) => sum + value, 0);
  const chances = raw.map(() => {
    const [kind, value] = [numbers.next(), numbers.next()];
    return kind < 0.15 ? 0 : kind < 0.3 ? 1 : value;
  });
  return { seed, weights: raw.map((value) => value / total), chances, shared: numbers.next() };
}

/** The credit of a text: its chance less the mean chance of what the policy says. */
export function trueCredit({ weights, chances }: Tabular, text: number): number {
  return (chances[text] ?? 0) - weights.reduce((sum, weight, index) => sum + weight * (chances[index] ?? 0), 0);
}

/** A text as the policy draws it. */
export function drawText(numbers: Numbers, { weights }: Tabular): number {
  let left = numbers.next();
  for (const [text, weight] of weights.entries()) {
    left -= weight;
    if (left < 0) {
      return text;
    }
  }
  return weights.length - 1;
}

/** What a text returns on a stream: the same every time. */
export function returned({ seed, chances, shared }: Tabular, text: number, stream: number): number {
  const numbers = openStream(seed, stream);
  const chance = uniform(numbers, 2 * text + 1) < shared ? uniform(numbers, 0) : uniform(numbers, 2 * text + 2);
  return chance < (chances[text] ?? 0) ? 1 : 0;
}

export interface Design {
  readonly draws: number;
  readonly streams: number;
  /** Each message draws numbers of its own, as in training. */
  readonly independent?: boolean;
  /** One draw and one stream a unit. */
  readonly paired?: boolean;
}

/** A bucket of draws, beside the message that was asked about where there is one. */
export function play(
  numbers: Numbers,
  context: Tabular,
  id: number,
  asked: number | null,
  { draws, streams, independent = false, paired = false }: Design,
): PoolBucket {
  const all = Array.from({ length: paired ? draws : streams }, (_, index) => index);
  const member = (text: number, place: number, own: readonly number[], drawn: boolean): PoolMember => ({
    key: String(text),
    drawn,
    results: own.map((stream): PoolResult => {
      const name = 1_000_000 * id + 1000 * (independent ? place : 0) + stream;
      return { stream, source: String(name), value: returned(context, text, name), evaluatorCalls: 1 };
    }),
  });
  const sampled = Array.from({ length: draws }, (_, index) =>
    member(drawText(numbers, context), index + 1, paired ? [index] : all, true),
  );
  return { id, members: asked === null ? sampled : [member(asked, 0, all, false), ...sampled] };
}

/** What ends the episode: one result each, a function of the text. */
export function playTerminal(
  numbers: Numbers,
  context: Tabular,
  id: number,
  asked: number | null,
  draws: number,
): PoolBucket {
  const member = (text: number, drawn: boolean): PoolMember => ({
    key: String(text),
    drawn,
    results: [{ stream: 0, source: 'end', value: (context.chances[text] ?? 0) > 0.5 ? 1 : 0, evaluatorCalls: 1 }],
  });
  const sampled = Array.from({ length: draws }, () => member(drawText(numbers, context), true));
  return { id, members: asked === null ? sampled : [member(asked, false), ...sampled] };
}

/** The same context where every text's return is certain. */
export const certain = (context: Tabular): Tabular => ({
  ...context,
  chances: context.chances.map((chance) => (chance > 0.5 ? 1 : 0)),
});

export const poolOf = (buckets: readonly PoolBucket[], terminal = false): CreditPool => ({
  buckets,
  terminal,
  range: { low: 0, high: 1 },
});

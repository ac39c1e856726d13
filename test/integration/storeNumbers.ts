/**
 * What a run's rounds cost and were credited with, summed message by message from the store: what charts, which read
 * sums and ledgers, are held against.
 */

import type { Phase } from '../../src/domain/episode.ts';
import type { StoreReader } from '../../src/store/types.ts';

interface RoundNumbers {
  /** Evaluator calls that were made. */
  readonly calls: number;
  readonly prompt: number;
  readonly reused: number;
  readonly completion: number;
  /** Completion tokens of messages that were taken from an equal request; they count nowhere else. */
  readonly reusedCompletion: number;
  /** Credits by role. */
  readonly credits: ReadonlyMap<string, readonly number[]>;
}

/** The numbers of a training step or an evaluation. */
export function roundNumbers(store: StoreReader, run: string, phase: Phase, iteration: number): RoundNumbers {
  const page = { offset: 0, limit: 1000 };
  const episodes = store.episodes({ run, phase, iteration, ...page });
  const problems = new Set(episodes.map(({ problem }) => problem));
  const messages = [...problems].flatMap(
    (problem) => store.transcript({ run, phase, iteration, problem, ...page }).messages,
  );
  const all = messages.map(({ id }) => store.fullMessage(id));
  const computed = all.filter(({ promptTokens, reusedTokens }) => reusedTokens <= promptTokens);
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const credits = new Map<string, number[]>();
  for (const { id, role, bucket } of messages) {
    const first = bucket === null ? undefined : store.credits(bucket).find(({ message }) => message === id);
    if (first !== undefined) {
      credits.set(role, [...(credits.get(role) ?? []), first.value]);
    }
  }
  return {
    calls: sum(episodes.map(({ evaluatorCalls }) => evaluatorCalls)),
    reusedCompletion: sum(all.filter((one) => !computed.includes(one)).map(({ tokens }) => tokens.length)),
    prompt: sum(computed.map(({ promptTokens }) => promptTokens)),
    reused: sum(computed.map(({ reusedTokens }) => reusedTokens)),
    completion: sum(computed.map(({ tokens }) => tokens.length)),
    credits,
  };
}

/**
 * The value below which a share of the values lies: every value weighed by how near its rank is to the place asked for.
 */
export function quantile(values: readonly number[], share: number): number {
  const place = share * (values.length - 1);
  return values
    .toSorted((a, b) => a - b)
    .reduce((sum, value, rank) => sum + value * Math.max(0, 1 - Math.abs(place - rank)), 0);
}

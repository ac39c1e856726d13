/**
 * A method for tests, similar to CCPO: some episodes are only measured, and the credit and the
 * updates of later steps use their running statistics.
 */

import type { Json } from '../../src/domain/episode.ts';
import type { MethodState } from '../../src/domain/step.ts';
import { findLeaves, computeReturn, type TreeMessage } from '../../src/replay/tree.ts';
import type { Credit } from '../../src/shared/credit/credit.ts';
import { magrpo } from '../../src/training/methods/magrpo.ts';
import { walkEpisode, type Method } from '../../src/training/methods/method.ts';

const KEPT = 0.9;

export interface Statistics {
  readonly steps: number;
  /** Running mean of the measured returns. */
  readonly mean: number;
  /** Running variance of the measured returns. */
  readonly variance: number;
}

/** Reads the statistics and the mean after each step from a state. */
export function readRunningStatistics({ json, tensors }: MethodState): {
  readonly statistics: Statistics;
  readonly history: Float32Array;
} {
  const entries = new Map<string, Json>(typeof json === 'object' && json !== null ? Object.entries(json) : []);
  const number = (key: string): number => Number(entries.get(key));
  const statistics = { steps: number('steps'), mean: number('mean'), variance: number('variance') };
  return { statistics, history: tensors['history']?.data ?? new Float32Array() };
}

const toMethodState = (statistics: Statistics, history: Float32Array): MethodState => ({
  json: { ...statistics },
  tensors: {
    history: { shape: [history.length], data: history },
    latest: { shape: [1, 2], data: Float32Array.of(statistics.mean, statistics.variance) },
  },
});

const listClippedReturns = (trees: readonly (readonly TreeMessage[])[], bound: number): number[] =>
  trees
    .flat()
    .flatMap(findLeaves)
    .flatMap((leaf) => computeReturn(leaf, bound) ?? []);

export const runningStatistics: Method = {
  ...magrpo,
  state: () => ({
    name: 'running-statistics',
    version: 1,
    initial: () => toMethodState({ steps: 0, mean: 0.5, variance: 0 }, new Float32Array()),
  }),

  plan: () => [
    { fanout: [3, 1], commonRandomNumbers: false },
    { fanout: [2, 1], commonRandomNumbers: false, measured: true },
  ],

  credit({ problems, measured, settings, state }) {
    const bound = settings.credit.return_clip;
    const { statistics, history } = readRunningStatistics(state);
    const credits = new Map<TreeMessage, Credit>();
    for (const first of problems.flat()) {
      const [own] = listClippedReturns([[first]], bound);
      if (own === undefined) {
        continue;
      }
      const value = Math.tanh((own - statistics.mean) / Math.sqrt(statistics.variance + 0.01));
      for (const message of walkEpisode(first)) {
        credits.set(message, {
          estimator: 'magrpo',
          value,
          low: null,
          high: null,
          n: 1,
          evaluatorCalls: 1,
          interval: 'none',
        });
      }
    }
    const returns = listClippedReturns(measured, bound);
    const mean = returns.reduce((sum, one) => sum + one, 0) / returns.length;
    const variance = returns.reduce((sum, one) => sum + (one - mean) ** 2, 0) / returns.length;
    const next = {
      steps: statistics.steps + 1,
      mean: KEPT * statistics.mean + (1 - KEPT) * mean,
      variance: KEPT * statistics.variance + (1 - KEPT) * variance,
    };
    return { credits, state: toMethodState(next, Float32Array.from([...history, next.mean])) };
  },

  *updates({ settings, state }) {
    // The weights depend on the state too.
    const { statistics, history } = readRunningStatistics(state);
    yield { kind: 'policy', learningRate: settings.ppo.learning_rate * (1 + statistics.mean + (history.at(-1) ?? 0)) };
  },
};

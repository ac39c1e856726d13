/**
 * Accuracy over problems that were sampled several times: pass@k and avg@k (C3 appendix G; Chen et al. 2021; reference
 * section 6.4 and 12).
 */

import { mean } from '../../credit/describe.ts';
import { wilsonInterval } from '../../credit/interval.ts';
import type { Interval } from '../../domain/credit.ts';
import { bootstrapMean } from './bootstrap.ts';
import { passAtK } from './passAtK.ts';

/** One problem's episodes: 1 solved, 0 not solved, null if the evaluator failed. */
export type Samples = readonly (0 | 1 | null)[];

export interface Accuracy {
  /** n counts problems. */
  readonly interval: Interval;
  /** Bootstrap over problems, or Wilson if every problem has one sample. */
  readonly method: 'bootstrap' | 'wilson' | 'none';
  /** Problems left out because they have too few unmasked samples. */
  readonly leftOut: number;
}

/**
 * Returns the unbiased pass@k of each problem, averaged over problems.
 * @returns null if no problem has k unmasked samples
 * @throws C3Error('input') for a k that is not a whole number from 1
 */
export function averagePassAtK(problems: readonly Samples[], k: number, seed = 0): Accuracy | null {
  return averageOverProblems(problems, (n, c) => passAtK(n, c, k), k, seed);
}

/**
 * Returns the mean of each problem's samples, averaged over problems: pass@1 from all samples. Null
 * without an unmasked sample.
 */
export function averageAtK(problems: readonly Samples[], seed = 0): Accuracy | null {
  return averageOverProblems(problems, (n, c) => (n === 0 ? null : c / n), 1, seed);
}

/**
 * Returns the standard error of avg@k from sampling alone: sqrt(mean of p (1 - p) / (N k)) for N
 * problems of k samples.
 * @returns null unless all problems have the same number of unmasked samples, at least two
 */
export function samplingError(problems: readonly Samples[]): number | null {
  const counted = problems.map(countSolved);
  const k = counted[0]?.n ?? 0;
  if (k < 2 || counted.some(({ n }) => n !== k)) {
    return null;
  }
  return Math.sqrt(mean(counted.map(({ c }) => (c / k) * (1 - c / k))) / (problems.length * k));
}

function averageOverProblems(
  problems: readonly Samples[],
  estimate: (n: number, c: number) => number | null,
  k: number,
  seed: number,
): Accuracy | null {
  const counted = problems.map(countSolved);
  const values = counted.flatMap(({ n, c }) => estimate(n, c) ?? []);
  const leftOut = problems.length - values.length;
  if (k === 1 && counted.every(({ n }) => n <= 1)) {
    const interval = wilsonInterval(values.filter((value) => value === 1).length, values.length);
    return interval === null ? null : { interval, method: 'wilson', leftOut };
  }
  const interval = bootstrapMean(values, seed);
  return interval === null ? null : { interval, method: interval.low === null ? 'none' : 'bootstrap', leftOut };
}

function countSolved(samples: Samples): { readonly n: number; readonly c: number } {
  const kept = samples.filter((value) => value !== null);
  return { n: kept.length, c: kept.filter((value) => value === 1).length };
}

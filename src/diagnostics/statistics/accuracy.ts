/**
 * Accuracy over instances that were sampled several times: pass@k and avg@k (C3 appendix G; Chen et al. 2021; reference
 * section 6.4 and 12).
 */
import { mean } from '../../credit/describe.ts';
import { wilson } from '../../credit/interval.ts';
import type { Interval } from '../../domain/credit.ts';
import { bootstrapMean } from './bootstrap.ts';
import { passAtK } from './passAtK.ts';

/** One instance's episodes: 1 solved, 0 not, null where the evaluator failed. */
export type Samples = readonly (0 | 1 | null)[];

export interface Accuracy {
  /** n counts instances. */
  readonly interval: Interval;
  /** Bootstrap over instances, or Wilson where every instance has one sample. */
  readonly method: 'bootstrap' | 'wilson' | 'none';
  /** Instances left out: too few unmasked samples. */
  readonly leftOut: number;
}

/**
 * The unbiased pass@k of each instance, averaged over instances.
 * @returns null where no instance has k unmasked samples
 * @throws C3Error('input') for a k that is no whole number from 1
 */
export function passAtKOf(instances: readonly Samples[], k: number, seed = 0): Accuracy | null {
  return overInstances(instances, (n, c) => passAtK(n, c, k), k, seed);
}

/**
 * The mean of each instance's samples, averaged over instances: pass@1 by all samples. Null without an unmasked sample.
 */
export function averageOf(instances: readonly Samples[], seed = 0): Accuracy | null {
  return overInstances(instances, (n, c) => (n === 0 ? null : c / n), 1, seed);
}

/**
 * The standard error that sampling alone gives avg@k: sqrt(mean of p (1 - p) / (N k)) for N instances of k samples.
 * @returns null without instances of the same number of unmasked samples, or for fewer than two of each
 */
export function samplingError(instances: readonly Samples[]): number | null {
  const counted = instances.map(countOf);
  const k = counted[0]?.n ?? 0;
  if (k < 2 || counted.some(({ n }) => n !== k)) {
    return null;
  }
  return Math.sqrt(mean(counted.map(({ c }) => (c / k) * (1 - c / k))) / (instances.length * k));
}

function overInstances(
  instances: readonly Samples[],
  estimate: (n: number, c: number) => number | null,
  k: number,
  seed: number,
): Accuracy | null {
  const counted = instances.map(countOf);
  const values = counted.flatMap(({ n, c }) => estimate(n, c) ?? []);
  const leftOut = instances.length - values.length;
  if (k === 1 && counted.every(({ n }) => n <= 1)) {
    const interval = wilson(values.filter((value) => value === 1).length, values.length);
    return interval === null ? null : { interval, method: 'wilson', leftOut };
  }
  const interval = bootstrapMean(values, seed);
  return interval === null ? null : { interval, method: interval.low === null ? 'none' : 'bootstrap', leftOut };
}

function countOf(samples: Samples): { readonly n: number; readonly c: number } {
  const kept = samples.filter((value) => value !== null);
  return { n: kept.length, c: kept.filter((value) => value === 1).length };
}

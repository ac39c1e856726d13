/**
 * Signals that suggest a review, as the C3 paper's impact statement asks: unusually high influence,
 * anomalously low variance of credit within a context, and returns that rise while held-out accuracy
 * falls. A signal is not proof of a fault; it shows a place to examine.
 */

import { differenceInterval } from '../credit/interval.ts';
import type { Interval } from '../domain/credit.ts';
import { quantile } from './statistics/bootstrap.ts';

export type ReviewSignalName = 'high influence' | 'low variance' | 'returns without accuracy';

export interface ReviewSignal {
  readonly name: ReviewSignalName;
  /** The bucket, or null if the signal is about the whole run. */
  readonly bucket: string | null;
  readonly value: number;
  /** The limit that the value is compared with. */
  readonly threshold: number;
  /** One sentence with the numbers. */
  readonly evidence: string;
}

/** A value of one context of one role. */
export interface ContextValue {
  readonly bucket: string;
  readonly role: string;
  readonly value: number;
}

/** With fewer contexts of a role, there is no estimate of usual values. */
const FEWEST_CONTEXTS = 8;
/** Tukey's outer fence. */
const FENCE = 3;
const LISTED = 20;

/** Returns contexts above Tukey's outer fence of their role, Q3 + 3 (Q3 - Q1), greatest first. */
export function findHighInfluence(values: readonly ContextValue[]): ReviewSignal[] {
  return groupContextsByRole(values).flatMap((role) => {
    const { first, third } = quartiles(role.map(({ value }) => value));
    const threshold = third + FENCE * (third - first);
    return role
      .filter(({ value }) => value > threshold)
      .sort((a, b) => b.value - a.value)
      .slice(0, LISTED)
      .map(({ bucket, role: speaker, value }) => ({
        name: 'high influence' as const,
        bucket,
        value,
        threshold,
        evidence: `The ${speaker}'s message moves the next one by ${formatFour(value)} nats, above ${formatFour(threshold)} (Q3 + 3 IQR of ${role.length} contexts).`,
      }));
  });
}

/**
 * Returns contexts whose variance of credit is below Tukey's outer fence of their role on a
 * logarithmic scale, smallest first. A variance of 0 is below every fence. If a quarter of a role's
 * contexts have variance 0, there is no fence, and no context is unusual.
 */
export function findLowVariance(values: readonly ContextValue[]): ReviewSignal[] {
  return groupContextsByRole(values).flatMap((role) => {
    const logs = role.map(({ value }) => Math.log(value));
    const { first, third } = quartiles(logs);
    // This is 0 if the first quartile is a variance of 0.
    const threshold = Math.exp(first - FENCE * (third - first));
    return role
      .filter(({ value }) => value < threshold)
      .sort((a, b) => a.value - b.value)
      .slice(0, LISTED)
      .map(({ bucket, role: speaker, value }) => ({
        name: 'low variance' as const,
        bucket,
        value,
        threshold,
        evidence: `Credit of the ${speaker}'s alternatives varies by ${formatFour(value)} only, below ${formatFour(threshold)} (outer fence of ${role.length} contexts, logarithms).`,
      }));
  });
}

/**
 * Returns a signal if returns rise while held-out accuracy falls. Returns rise if the last third of
 * the training steps returns more than the first third and the 95 % interval of the difference is
 * above 0. Accuracy falls if it is lower after training by any amount; the evidence has its interval.
 * @param returns mean return of each training step, in order
 * @param accuracy after - before; null if it was not measured
 * @returns null if it does not hold or is unknown
 */
export function findReturnsWithoutAccuracy(returns: readonly number[], accuracy: Interval | null): ReviewSignal | null {
  const third = Math.floor(returns.length / 3);
  if (accuracy === null || third === 0 || accuracy.value >= 0) {
    return null;
  }
  const rise = differenceInterval(returns.slice(-third), returns.slice(0, third));
  if (rise === null || rise.low === null || rise.high === null || rise.low <= 0) {
    return null;
  }
  const bounds =
    accuracy.low === null || accuracy.high === null
      ? 'interval not measured'
      : `95 % interval ${formatFour(accuracy.low)} to ${formatFour(accuracy.high)}`;
  return {
    name: 'returns without accuracy',
    bucket: null,
    value: accuracy.value,
    threshold: 0,
    evidence: `Mean return rose by ${formatFour(rise.value)} (95 % interval ${formatFour(rise.low)} to ${formatFour(rise.high)}) while held-out accuracy changed by ${formatFour(accuracy.value)} (${bounds}, n=${accuracy.n}).`,
  };
}

function groupContextsByRole(values: readonly ContextValue[]): ContextValue[][] {
  const roles = new Map<string, ContextValue[]>();
  for (const value of values) {
    const role = roles.get(value.role);
    if (role === undefined) {
      roles.set(value.role, [value]);
    } else {
      role.push(value);
    }
  }
  return [...roles.values()].filter((role) => role.length >= FEWEST_CONTEXTS);
}

function quartiles(values: readonly number[]): { readonly first: number; readonly third: number } {
  const sorted = [...values].sort((a, b) => a - b);
  return { first: quantile(sorted, 0.25), third: quantile(sorted, 0.75) };
}

function formatFour(value: number): string {
  return String(Number(value.toPrecision(4)));
}

/** Every estimator by its name, and the credits of a group. The table is the only list of estimators. */

import type { Credit } from '../shared/credit/credit.ts';
import type { ReturnRange } from '../shared/credit/creditPool.ts';
import { C3Error, findNearestName } from '../shared/errors.ts';
import { toOneLine } from '../shared/text/oneLine.ts';
import { aggregate, unmasked, type Estimate } from './aggregate.ts';
import { mean } from './describe.ts';
import type { CreditGroup, Estimator } from './estimator.ts';
import { ccpo } from './estimators/ccpo.ts';
import { fullMean } from './estimators/fullMean.ts';
import { loo } from './estimators/loo.ts';
import { looTwoLevel } from './estimators/looTwoLevel.ts';
import { magrpo } from './estimators/magrpo.ts';
import { magrpoRloo } from './estimators/magrpoRloo.ts';
import { mappo } from './estimators/mappo.ts';
import { valueAssisted } from './estimators/valueAssisted.ts';
import { valueOnly } from './estimators/valueOnly.ts';
import { poolOtherSamples } from './leftOut.ts';

export type { CreditGroup, CreditInput, Estimator } from './estimator.ts';

/** In the order in which users see them. */
const TABLE = [
  loo,
  looTwoLevel,
  fullMean,
  magrpo,
  magrpoRloo,
  mappo,
  valueAssisted,
  valueOnly,
  ccpo,
] as const satisfies readonly Estimator[];

type Row = (typeof TABLE)[number];
export type CreditEstimator = Row['name'];
/** The estimators that `credit.estimator` of a configuration may name. */
export type ConfigurableEstimator = Extract<Row, { readonly configurable: true }>['name'];

export const ESTIMATORS: readonly (Estimator & { readonly name: CreditEstimator })[] = TABLE;
export const CREDIT_ESTIMATORS: readonly CreditEstimator[] = TABLE.map(({ name }) => name);
export const CONFIGURABLE_ESTIMATORS: readonly (Estimator & { readonly name: ConfigurableEstimator })[] = TABLE.filter(
  (row) => row.configurable,
);

/** Returns the estimator with a name, or null if this version has none. */
export const findEstimator = (name: string): (Estimator & { readonly name: CreditEstimator }) | null =>
  ESTIMATORS.find((row) => row.name === name) ?? null;

/**
 * Returns the estimator with a name from a store or a file.
 * @throws C3Error('input') for a name that this version does not know
 */
export function requireEstimator(name: string): Estimator & { readonly name: CreditEstimator } {
  const found = findEstimator(name);
  if (found !== null) {
    return found;
  }
  const nearest = findNearestName(name, CREDIT_ESTIMATORS);
  const hint = nearest === undefined ? `known are ${CREDIT_ESTIMATORS.join(', ')}` : `did you mean ${nearest}?`;
  throw new C3Error(
    'input',
    `The credit estimator ${JSON.stringify(toOneLine(name, 40))} is unknown; ${hint}${hint.endsWith('?') ? '' : '.'}`,
  );
}

/**
 * Returns the estimator name that diagnostics of single contexts use: the estimator itself if they
 * read its stored credits, or else the formula that they compute.
 */
export function chooseContextEstimator(name: CreditEstimator): CreditEstimator {
  const { diagnosed } = requireEstimator(name);
  return diagnosed === 'stored' ? name : diagnosed;
}

/**
 * Returns the baseline and credit of each alternative.
 * @returns in order; null for an alternative without an unmasked return
 * @throws C3Error('input') for a value that the estimator needs and that is missing, or a number that
 *   is not finite
 */
export function estimateGroup(group: CreditGroup, estimator: CreditEstimator): (Estimate | null)[] {
  return requireEstimator(estimator).estimate(
    group.alternatives.map(({ returns }) => aggregate(returns)),
    group,
  );
}

/**
 * Returns the credits of a group with interval, n and cost.
 *
 * n and evaluatorCalls are those of the whole group, since each credit depends on all of it. A single
 * alternative has credit 0 and no interval if the estimator compares alternatives with each other.
 * @returns in order; null for an alternative without an unmasked return
 * @throws C3Error('input') as estimateGroup, for a return beyond MAX_RETURN or a wrong number of calls
 */
export function creditGroup(group: CreditGroup, estimator: CreditEstimator): (Credit | null)[] {
  const { bounds } = requireEstimator(estimator);
  const samples = group.alternatives.map(({ returns }) => unmasked(returns));
  const n = samples.reduce((total, sample) => total + sample.length, 0);
  const evaluatorCalls = group.alternatives.reduce((total, { evaluatorCalls: calls }) => total + checkCalls(calls), 0);
  const estimates = estimateGroup(group, estimator);
  const others = poolOtherSamples(samples);
  const siblings = poolOtherSamples(samples.map((sample) => (sample.length === 0 ? [] : [mean(sample)])));
  const range = findReturnRange(samples);
  return estimates.map((found, index) => {
    if (found === null) {
      return null;
    }
    const { low, high, method } = bounds({
      credit: found.credit,
      own: samples[index] ?? [],
      others: others[index] ?? [],
      siblings: siblings[index] ?? [],
      range,
      group,
    });
    return { estimator, value: found.credit, low, high, n, evaluatorCalls, interval: method };
  });
}

/** Returns the smallest range that holds 0, 1 and all returns. */
function findReturnRange(samples: readonly (readonly number[])[]): ReturnRange {
  let [low, high] = [0, 1];
  for (const value of samples.flat()) {
    [low, high] = [Math.min(low, value), Math.max(high, value)];
  }
  return { low, high };
}

function checkCalls(calls: number): number {
  if (!Number.isSafeInteger(calls) || calls < 0) {
    throw new C3Error('input', `An alternative cost ${calls} evaluator calls; give a whole number of at least 0.`);
  }
  return calls;
}

/** The input of diagnostics: the alternatives of one context, credited ones and those that only estimate its value. */

import { estimateGroup, requireEstimator, type CreditEstimator } from '../credit/estimators.ts';

export interface DiagnosticAlternative {
  readonly text: string;
  /** The return of each replay; null if the evaluator failed. */
  readonly returns: readonly (number | null)[];
  /** The next teammate's message in each replay, if one follows. */
  readonly next: readonly string[];
  readonly evaluatorCalls: number;
  /** Its stored credit if its estimator's baseline is not computed from returns; otherwise null. */
  readonly credit: number | null;
}

export interface DiagnosticBucket {
  /** Identifies the bucket in reports. */
  readonly id: string;
  readonly role: string;
  /** In index order. */
  readonly alternatives: readonly DiagnosticAlternative[];
  /** Number of alternatives that are credited, from the first. */
  readonly credited: number;
  /** Range of the independent value samples, which serve V(h) alone and are never credited. */
  readonly valueFrom: number;
  readonly valueCount: number;
  /** Index of the message that was really said, or null if none is marked. */
  readonly real: number | null;
}

/** Returns the alternatives that are credited. */
export function listCreditedAlternatives({
  alternatives,
  credited,
}: DiagnosticBucket): readonly DiagnosticAlternative[] {
  return alternatives.slice(0, credited);
}

/** Returns the independent value samples. */
export function listValueSamples({
  alternatives,
  valueFrom,
  valueCount,
}: DiagnosticBucket): readonly DiagnosticAlternative[] {
  return alternatives.slice(valueFrom, valueFrom + valueCount);
}

/**
 * Returns the credit of each credited alternative, in order; null without a return, or without the
 * stored credit that the estimator needs.
 * @throws C3Error('input') for a return that is not finite
 */
export function computeCredits(bucket: DiagnosticBucket, estimator: CreditEstimator): (number | null)[] {
  const credited = listCreditedAlternatives(bucket);
  const { diagnosed } = requireEstimator(estimator);
  if (diagnosed === 'stored') {
    return credited.map(({ credit }) => credit);
  }
  return estimateGroup({ alternatives: credited }, diagnosed).map((found) => found?.credit ?? null);
}

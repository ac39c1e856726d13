/**
 * What the diagnostics are computed on: the alternatives of one context, those that are credited and those that only
 * say its value.
 */
import { estimateGroup, estimatorNamed, type CreditEstimator } from '../credit/estimators.ts';

export interface DiagnosticAlternative {
  readonly text: string;
  /** The return of each replay, null where the evaluator failed. */
  readonly returns: readonly (number | null)[];
  /** What the next teammate said in each replay, where one follows. */
  readonly next: readonly string[];
  readonly evaluatorCalls: number;
  /** Its stored credit, where its estimator's baseline is in no return; null where there is none. */
  readonly credit: number | null;
}

export interface DiagnosticBucket {
  /** Names the bucket in reports. */
  readonly id: string;
  readonly role: string;
  /** In index order. */
  readonly alternatives: readonly DiagnosticAlternative[];
  /** So many of the first alternatives are credited. */
  readonly credited: number;
  /** Independent value samples: drawn for V(h) alone, never credited. */
  readonly valueFrom: number;
  readonly valueCount: number;
  /** Index of the message that was really said; null where none is marked. */
  readonly real: number | null;
}

/** The alternatives that are credited. */
export function creditedOf({ alternatives, credited }: DiagnosticBucket): readonly DiagnosticAlternative[] {
  return alternatives.slice(0, credited);
}

/** The independent value samples. */
export function valueSamplesOf({
  alternatives,
  valueFrom,
  valueCount,
}: DiagnosticBucket): readonly DiagnosticAlternative[] {
  return alternatives.slice(valueFrom, valueFrom + valueCount);
}

/**
 * The credit of each credited alternative, in order; null without a return, or where it must be stored and is not.
 * @throws C3Error('input') for a return that is not finite
 */
export function creditsOf(bucket: DiagnosticBucket, estimator: CreditEstimator): (number | null)[] {
  const credited = creditedOf(bucket);
  const { diagnosed } = estimatorNamed(estimator);
  if (diagnosed === 'stored') {
    return credited.map(({ credit }) => credit);
  }
  return estimateGroup({ alternatives: credited }, diagnosed).map((found) => found?.credit ?? null);
}

/** Compares the certificates of a run's steps with the measured improvements (TeamTR reference section 5). */

import type { StepMetrics } from '../domain/step.ts';
import { spearman, type Pair } from './statistics/rank.ts';

export interface Certified {
  /** Steps with a certificate. */
  readonly steps: number;
  /** Steps that certify an improvement; `vacuous` counts those whose certificate says nothing. */
  readonly positive: number;
  readonly vacuous: number;
  readonly newest: { readonly value: number; readonly vacuous: boolean };
  /** Steps with both a certificate and a measured improvement for some of their updates. */
  readonly compared: number;
  /**
   * Steps whose certificate exceeds the measured improvement. Chance alone can cause this, because a
   * measurement is a sample.
   */
  readonly violations: number;
  /** Null without any compared step. */
  readonly violationRate: number | null;
  /** Spearman's correlation of certificates and measured improvements; null if it is not defined. */
  readonly rankCorrelation: number | null;
}

type Measured = Pick<StepMetrics, 'certificate' | 'vacuousCertificate' | 'comparedCertificate' | 'measuredImprovement'>;

/** Summarizes the steps of a run. @param steps in order @returns null if no step has a certificate */
export function summarizeCertificates(steps: readonly Measured[]): Certified | null {
  const shown = steps.flatMap(({ certificate: value, vacuousCertificate }) =>
    value === undefined ? [] : [{ value, vacuous: vacuousCertificate === 1 }],
  );
  const newest = shown.at(-1);
  if (newest === undefined) {
    return null;
  }
  const pairs = steps.flatMap(({ comparedCertificate: value, measuredImprovement: measured }): Pair[] =>
    value === undefined || measured === undefined ? [] : [[value, measured]],
  );
  const violations = pairs.filter(([value, measured]) => value > measured).length;
  return {
    steps: shown.length,
    positive: shown.filter(({ value }) => value > 0).length,
    vacuous: shown.filter(({ vacuous }) => vacuous).length,
    newest,
    compared: pairs.length,
    violations,
    violationRate: pairs.length === 0 ? null : violations / pairs.length,
    rankCorrelation: spearman(pairs),
  };
}

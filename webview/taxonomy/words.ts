/** Texts of the taxonomy panel: the rules of the classes, counts, and the agreement with labels. */

import type { Interval } from '../../src/domain/credit.ts';
import {
  PRECEDENCE,
  sameThresholds,
  TAXONOMY_THRESHOLDS,
  formatThresholds,
  type TaxonomyAgreement,
  type TaxonomyThresholds,
  type ThresholdName,
  type VerdictName,
} from '../../src/domain/taxonomy.ts';
import { bounds, count, decimal, formatPercent1 } from '../common/format.ts';

/** Returns the rule of a class with its thresholds, or null for the classes without a rule. */
export function describeClassRule(
  name: VerdictName,
  { misleading, ambiguity, shift, significance }: TaxonomyThresholds,
): string | null {
  switch (name) {
    case 'Misleading Plan':
      return `best mean return < ${misleading}, scored roles downstream`;
    case 'Evaluator Ambiguity':
      return `greatest \u2212 smallest return < ${ambiguity}`;
    case 'Successful Credit Shift':
      return `best \u2212 real mean return > ${shift}, the best chosen on other replays`;
    case 'Over-Coupling':
      return `variance within > between, F test not significant at ${significance}`;
    case 'unclassified':
    case 'all succeeded':
      return null;
  }
}

/** Returns the position of a class in the order of the rules: `1`, or empty if it has no rule. */
export function formatClassRank(name: VerdictName): string {
  const rank = PRECEDENCE.findIndex((known) => known === name);
  return rank === -1 ? '' : String(rank + 1);
}

export const THRESHOLD_LABELS: Readonly<Record<ThresholdName, string>> = {
  misleading: 'Misleading: best mean return below',
  ambiguity: 'Ambiguity: returns closer than',
  shift: 'Shift: best above real by more than',
  significance: 'Over-coupling: level of the F test',
};

/** Describes the thresholds of the counts, so that a screenshot of the table is never misleading. */
export function describeThresholds(thresholds: TaxonomyThresholds): string {
  return sameThresholds(thresholds, TAXONOMY_THRESHOLDS)
    ? `Counted with the paper's thresholds: ${formatThresholds(thresholds)}`
    : `Counted with ${formatThresholds(thresholds)}. Arrows start at the paper's counts (${formatThresholds(TAXONOMY_THRESHOLDS)})`;
}

/** Formats a count: `12`, or `12 → 15` if other thresholds changed it. */
export function formatCountChange(before: number, now: number): string {
  return before === now ? count(now) : `${count(before)} \u2192 ${count(now)}`;
}

/** Formats the count by chance: `3.2 [1, 6]`, the mean with the lowest and the highest count. */
export const formatCountByChance = ({ value, low, high }: Interval): string =>
  `${decimal(value, 1)} [${count(low ?? 0)}, ${count(high ?? 0)}]`;

/** Formats a count for screen readers, which may skip an arrow. */
export function describeCountChange(before: number, now: number): string {
  return before === now ? count(now) : `${count(before)} with the paper's thresholds, now ${count(now)}`;
}

/** Formats a share of all buckets: a dash if there are none. */
export function formatBucketShare(part: number, all: number): string {
  return all === 0 ? '\u2013' : formatPercent1(part / all);
}

/** Describes the agreement of the labels with the classes in one or two sentences. */
export function describeLabelAgreement({ n, agreed, kappa, reason, ownWords }: TaxonomyAgreement): string {
  const left =
    ownWords === 0 ? '' : ` ${count(ownWords)} labeled in your own words ${ownWords === 1 ? 'is' : 'are'} left out.`;
  if (kappa === null) {
    const why = n < 2 ? `label two cases with a class or as unclassified (${count(n)} so far)` : (reason ?? '');
    return `Agreement with your labels is not measured: ${why}.${left}`;
  }
  const interval = bounds(kappa.low, kappa.high);
  const why = reason ?? 'the interval is not measured';
  const measured = `Cohen's kappa ${decimal(kappa.value)}, ${interval === null ? '' : `95 % interval ${interval}, `}n = ${count(n)}; ${count(agreed)} ${agreed === 1 ? 'agrees' : 'agree'}.`;
  return `${measured}${interval === null ? ` ${why.charAt(0).toUpperCase()}${why.slice(1)}.` : ''}${left}`;
}

/** Returns the number of labeled cases whose class differs from the label. */
export function countDisagreements({ n, agreed }: TaxonomyAgreement): number {
  return n - agreed;
}

/** Describes the origin of a case. */
export function describeCaseOrigin(origin: 'training' | 'request' | 'diagnostic', iteration: number): string {
  return origin === 'training' ? `step ${count(iteration)}` : origin === 'request' ? 'replay' : 'diagnostic';
}

/** Formats a time for the user's locale. A text that is not a time is returned as it is. */
export function formatLocalTime(iso: string): string {
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) ? iso : time.toLocaleString();
}

/** What the taxonomy panel says in words: what the classes mean, by which rule, and how labels agree. */
import type { Interval } from '../../src/domain/credit.ts';
import {
  PRECEDENCE,
  sameThresholds,
  TAXONOMY_THRESHOLDS,
  thresholdWords,
  type TaxonomyAgreement,
  type TaxonomyThresholds,
  type ThresholdName,
  type VerdictName,
} from '../../src/domain/taxonomy.ts';
import { bounds, count, decimal, percent1 } from '../common/format.ts';

/** The rule behind each class with the thresholds that count; null for what is left. */
export function ruleOf(
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

/** Where a class is in the order in which the rules are tried: `1`, or nothing for what is left. */
export function rankOf(name: VerdictName): string {
  const rank = PRECEDENCE.findIndex((known) => known === name);
  return rank === -1 ? '' : String(rank + 1);
}

export const THRESHOLD_LABELS: Readonly<Record<ThresholdName, string>> = {
  misleading: 'Misleading: best mean return below',
  ambiguity: 'Ambiguity: returns closer than',
  shift: 'Shift: best above real by more than',
  significance: 'Over-coupling: level of the F test',
};

/** By which thresholds the counts were made, so that no picture of them lies. */
export function thresholdCaption(thresholds: TaxonomyThresholds): string {
  return sameThresholds(thresholds, TAXONOMY_THRESHOLDS)
    ? `Counted with the paper's thresholds: ${thresholdWords(thresholds)}`
    : `Counted with ${thresholdWords(thresholds)}. Arrows start at the paper's counts (${thresholdWords(TAXONOMY_THRESHOLDS)})`;
}

/** `12`, or `12 -> 15` where another threshold made it another. */
export function countWords(before: number, now: number): string {
  return before === now ? count(now) : `${count(before)} \u2192 ${count(now)}`;
}

/** `3.2 [1, 6]`: the mean by chance, and from the least to the greatest. */
export const chanceCell = ({ value, low, high }: Interval): string =>
  `${decimal(value, 1)} [${count(low ?? 0)}, ${count(high ?? 0)}]`;

/** The same for a screen reader, which may pass over an arrow. */
export function countSpoken(before: number, now: number): string {
  return before === now ? count(now) : `${count(before)} with the paper's thresholds, now ${count(now)}`;
}

/** A share of all buckets; none where there are none. */
export function shareWords(part: number, all: number): string {
  return all === 0 ? '\u2013' : percent1(part / all);
}

/** How the labels agree with the classes, in one or two sentences. */
export function agreementWords({ n, agreed, kappa, reason, ownWords }: TaxonomyAgreement): string {
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

/** How many of the labelled cases got another class. */
export function disagreements({ n, agreed }: TaxonomyAgreement): number {
  return n - agreed;
}

/** Where a case comes from. */
export function originWords(origin: 'training' | 'request' | 'diagnostic', iteration: number): string {
  return origin === 'training' ? `step ${count(iteration)}` : origin === 'request' ? 'replay' : 'diagnostic';
}

/** A time as the user's clock shows it; what is no time stays as it is. */
export function timeWords(iso: string): string {
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) ? iso : time.toLocaleString();
}

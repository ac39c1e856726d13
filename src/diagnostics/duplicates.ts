/** Rates of duplicates among the alternatives of a context (reference section 12). */

import type { Interval } from '../domain/credit.ts';
import { listCreditedAlternatives, type DiagnosticBucket } from './bucket.ts';
import { bootstrapMean } from './statistics/bootstrap.ts';

/** Two alternatives are near duplicates if they share more than this share of their words. */
const NEAR = 0.9;

export interface DuplicateRates {
  /**
   * Mean over contexts of the share of alternatives that equal another after whitespace is folded; null
   * without contexts of at least two alternatives.
   */
  readonly exact: Interval | null;
  /** The same for alternatives that share more than 0.9 of their words (Jaccard) with another. */
  readonly near: Interval | null;
  readonly leftOut: number;
}

/** Returns the share of a context's texts that another repeats, or null for fewer than two. */
export function duplicateRate(texts: readonly string[]): number | null {
  const folded = texts.map((text) => splitWords(text).join(' '));
  return shareOfRepeated(folded, (one, other) => one === other);
}

/**
 * Returns the share of a context's texts that share more than 0.9 of their words with another; null
 * for fewer than two.
 */
export function nearDuplicateRate(texts: readonly string[]): number | null {
  return shareOfRepeated(
    texts.map((text) => new Set(splitWords(text))),
    (one, other) => jaccardIndex(one, other) > NEAR,
  );
}

/**
 * Returns both rates over the credited alternatives of each context. Duplicates are reported but never
 * removed, because credit without them is biased.
 */
export function duplicateRates(buckets: readonly DiagnosticBucket[], seed = 0): DuplicateRates {
  const texts = buckets.map((bucket) => listCreditedAlternatives(bucket).map(({ text }) => text));
  const exact = texts.flatMap((one) => duplicateRate(one) ?? []);
  return {
    exact: bootstrapMean(exact, seed),
    near: bootstrapMean(
      texts.flatMap((one) => nearDuplicateRate(one) ?? []),
      seed,
    ),
    leftOut: buckets.length - exact.length,
  };
}

function shareOfRepeated<Item>(items: readonly Item[], alike: (one: Item, other: Item) => boolean): number | null {
  if (items.length < 2) {
    return null;
  }
  const repeated = items.filter((item, index) => items.some((other, place) => place !== index && alike(item, other)));
  return repeated.length / items.length;
}

function jaccardIndex(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  if (one.size === 0 && other.size === 0) {
    return 1;
  }
  let common = 0;
  for (const word of one) {
    if (other.has(word)) {
      common++;
    }
  }
  return common / (one.size + other.size - common);
}

function splitWords(text: string): string[] {
  return text.split(/\s+/u).filter((word) => word !== '');
}

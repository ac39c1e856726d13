/**
 * Influence: the information of the choice of a message about the next teammate's message, I(J; Y | h)
 * in nats (C3 appendix J; reference section 8.3 and 12).
 */

import type { Interval } from '../domain/credit.ts';
import { listCreditedAlternatives, type DiagnosticBucket } from './bucket.ts';
import { toSymbol, type Canonicalization } from './canonical.ts';
import { bootstrapMean } from './statistics/bootstrap.ts';

export interface InfluenceSettings {
  /** The conversion of a text to a symbol: one of the two published ways, or your own function. */
  readonly symbol: Canonicalization | ((text: string) => string);
  /** Number of most frequent symbols that are kept; the others become one symbol OTHER. */
  readonly topK: number;
  /** Dirichlet smoothing per symbol. */
  readonly alpha: number;
  /**
   * p(j): uniform as in the paper, or the share of the samples as in the published code. Both are equal
   * if all alternatives have the same number of replays.
   */
  readonly weights: 'uniform' | 'samples';
}

/** Appendix J. */
export const PAPER_INFLUENCE: InfluenceSettings = { symbol: 'paper', topK: 64, alpha: 0.01, weights: 'uniform' };
/** The published command's defaults. */
export const CODE_INFLUENCE: InfluenceSettings = { symbol: 'code', topK: 64, alpha: 0.01, weights: 'samples' };

export interface Influence {
  /**
   * Mean over contexts with a bootstrap interval over them; null if no context can be measured. n counts
   * contexts.
   */
  readonly value: Interval | null;
  /** Contexts left out because fewer than two alternatives have a next message. */
  readonly leftOut: number;
  readonly vocabulary: {
    /** Number of different symbols; `samples` is the number of messages that they come from. */
    readonly symbols: number;
    readonly samples: number;
    /** Share of the samples that became OTHER. */
    readonly other: number;
    /** Share of the samples whose symbol occurs only once. */
    readonly single: number;
  } | null;
  /** Set if the vocabulary has collapsed, so that the value is not informative. */
  readonly warning: string | null;
}

/** Above these shares the vocabulary does not represent the messages. */
const MOST_OTHER = 0.5;
const MOST_SINGLE = 0.5;

/**
 * Returns the smoothed mutual information of one context.
 *
 *   p(y|j) = (c + alpha) / (n_j + alpha |Y|),    |Y| = vocabulary + OTHER
 *   p(y)   = sum over j of p(j) p(y|j)
 *   I      = sum over j, y of p(j) p(y|j) ln(p(y|j) / p(y)), not below 0
 *
 * An alternative without a next message has the uniform p(y|j), and weight 0 with weights by samples.
 * @param symbols the next messages' symbols, by alternative
 * @param vocabulary the symbols that are kept; null takes the most frequent ones of the context
 * @returns null for fewer than two alternatives or without any next message
 */
export function smoothedInformation(
  symbols: readonly (readonly string[])[],
  { topK, alpha, weights }: Pick<InfluenceSettings, 'topK' | 'alpha' | 'weights'>,
  vocabulary: readonly string[] | null = null,
): number | null {
  const total = symbols.reduce((sum, own) => sum + own.length, 0);
  if (symbols.length < 2 || total === 0) {
    return null;
  }
  const places = new Map(
    (vocabulary ?? chooseMostFrequent(symbols.flat(), topK)).map((symbol, index) => [symbol, index]),
  );
  const size = places.size + 1;
  const conditional = symbols.map((own) => {
    const counts = new Float64Array(size);
    for (const symbol of own) {
      const place = places.get(symbol) ?? size - 1;
      counts[place] = (counts[place] ?? 0) + 1;
    }
    return counts.map((count) => (count + alpha) / Math.max(own.length + alpha * size, 1e-12));
  });
  const weightOf = (index: number): number =>
    weights === 'uniform' ? 1 / symbols.length : (symbols[index]?.length ?? 0) / total;
  const marginal = new Float64Array(size);
  for (const [index, row] of conditional.entries()) {
    for (const [place, p] of row.entries()) {
      marginal[place] = (marginal[place] ?? 0) + weightOf(index) * p;
    }
  }
  let information = 0;
  for (const [index, row] of conditional.entries()) {
    for (const [place, p] of row.entries()) {
      if (p > 0) {
        information += weightOf(index) * p * Math.log(p / Math.max(marginal[place] ?? 0, 1e-300));
      }
    }
  }
  return Math.max(0, information);
}

/**
 * Returns the plug-in mutual information with the Miller-Madow correction of each entropy, (m - 1) /
 * 2N for m symbols seen in N samples. Alternatives have equal weights. The result may be below 0. It
 * suits few symbols, such as stated answers.
 * @param corrected false omits the correction
 * @returns null for fewer than two alternatives with a next message
 */
export function millerMadowInformation(symbols: readonly (readonly string[])[], corrected = true): number | null {
  const seen = symbols.filter((own) => own.length > 0);
  if (seen.length < 2) {
    return null;
  }
  const total = seen.reduce((sum, own) => sum + own.length, 0);
  const marginal = new Map<string, number>();
  let information = 0;
  for (const own of seen) {
    const counts = countSymbols(own);
    for (const [symbol, count] of counts) {
      const p = count / own.length;
      information += (p * Math.log(p)) / seen.length;
      marginal.set(symbol, (marginal.get(symbol) ?? 0) + p / seen.length);
    }
    if (corrected) {
      information -= (counts.size - 1) / (2 * own.length) / seen.length;
    }
  }
  for (const p of marginal.values()) {
    information -= p * Math.log(p);
  }
  return corrected ? information + (marginal.size - 1) / (2 * total) : information;
}

/** Returns the mean over contexts of smoothedInformation, with one vocabulary for all of them. */
export function measureInfluence(
  buckets: readonly DiagnosticBucket[],
  settings: InfluenceSettings,
  seed = 0,
): Influence {
  const symbols = listNextSymbols(buckets, settings.symbol);
  const all = symbols.flat(2);
  const vocabulary = chooseMostFrequent(all, settings.topK);
  const values = symbols.flatMap((own) =>
    own.filter((next) => next.length > 0).length < 2 ? [] : (smoothedInformation(own, settings, vocabulary) ?? []),
  );
  if (all.length === 0) {
    return { value: null, leftOut: buckets.length, vocabulary: null, warning: null };
  }
  const kept = new Set(vocabulary);
  const counts = countSymbols(all);
  const shares = {
    symbols: counts.size,
    samples: all.length,
    other: all.filter((symbol) => !kept.has(symbol)).length / all.length,
    single: [...counts.values()].filter((count) => count === 1).length / all.length,
  };
  return {
    value: bootstrapMean(values, seed),
    leftOut: buckets.length - values.length,
    vocabulary: shares,
    warning: writeVocabularyWarning(shares),
  };
}

/** The symbol of a next message without an answer, if others in its context state one. */
const NO_ANSWER = '<NONE>';

/**
 * Returns the mean over contexts of millerMadowInformation between alternatives and the answers in the
 * next messages. Contexts without any answer are left out.
 * @param answerOf returns the answer in a text, or null if there is none
 */
export function measureAnswerInfluence(
  buckets: readonly DiagnosticBucket[],
  answerOf: (text: string) => string | null,
  seed = 0,
): { readonly value: Interval | null; readonly leftOut: number } {
  const answers = buckets.map((bucket) => listCreditedAlternatives(bucket).map(({ next }) => next.map(answerOf)));
  const values = answers
    .filter((own) => own.flat().some((answer) => answer !== null))
    .flatMap((own) => millerMadowInformation(own.map((next) => next.map((one) => one ?? NO_ANSWER))) ?? []);
  return { value: bootstrapMean(values, seed), leftOut: buckets.length - values.length };
}

/** Returns the influence of each context with the common vocabulary, or null if unmeasured. */
export function measureContextInfluences(
  buckets: readonly DiagnosticBucket[],
  settings: InfluenceSettings,
): (number | null)[] {
  const symbols = listNextSymbols(buckets, settings.symbol);
  const vocabulary = chooseMostFrequent(symbols.flat(2), settings.topK);
  return symbols.map((own) =>
    own.filter((next) => next.length > 0).length < 2 ? null : smoothedInformation(own, settings, vocabulary),
  );
}

/**
 * Returns the influence as the published command reports it: unmeasured contexts count as 0. Null
 * without contexts.
 */
export function measurePublishedInfluence(
  buckets: readonly DiagnosticBucket[],
  settings: InfluenceSettings = CODE_INFLUENCE,
): number | null {
  if (buckets.length === 0) {
    return null;
  }
  const symbols = listNextSymbols(buckets, settings.symbol);
  const vocabulary = chooseMostFrequent(symbols.flat(2), settings.topK);
  return symbols.reduce((sum, own) => sum + (smoothedInformation(own, settings, vocabulary) ?? 0), 0) / buckets.length;
}

function listNextSymbols(buckets: readonly DiagnosticBucket[], symbol: InfluenceSettings['symbol']): string[][][] {
  const name = typeof symbol === 'string' ? (text: string): string => toSymbol(text, symbol) : symbol;
  return buckets.map((bucket) => listCreditedAlternatives(bucket).map(({ next }) => next.map(name)));
}

/** Returns the most frequent symbols, ties in the order of first appearance. */
export function chooseMostFrequent(symbols: readonly string[], topK: number): string[] {
  return [...countSymbols(symbols)]
    .sort(([, a], [, b]) => b - a)
    .slice(0, topK)
    .map(([symbol]) => symbol);
}

function countSymbols(symbols: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const symbol of symbols) {
    counts.set(symbol, (counts.get(symbol) ?? 0) + 1);
  }
  return counts;
}

function writeVocabularyWarning({ other, single }: { readonly other: number; readonly single: number }): string | null {
  const share = (value: number): string => `${(100 * value).toFixed(0)} %`;
  if (other > MOST_OTHER) {
    return `The vocabulary has collapsed: ${share(other)} of the next messages fall to OTHER, where they cannot be told apart; take a larger vocabulary, or stated answers as symbols.`;
  }
  if (single > MOST_SINGLE) {
    return `The vocabulary has collapsed: ${share(single)} of the next messages came once only, so that any two alternatives look different; take stated answers as symbols, or more replays.`;
  }
  return null;
}

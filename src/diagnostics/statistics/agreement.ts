/** Cohen's kappa: how far two ways of sorting the same cases agree beyond what their margins alone would give. */
import type { Interval } from '../../domain/credit.ts';

export interface Agreement {
  readonly n: number;
  /** Cases that both sort alike. */
  readonly agreed: number;
  /** Null where it is not measured; bounds are null where they cannot be estimated. */
  readonly kappa: Interval | null;
  readonly standardError: number | null;
  /** Why kappa, or its interval, is not measured; null where both are. */
  readonly reason: string | null;
}

/** Two-sided 95 %. */
const Z = 1.959963984540054;
/** The large-sample standard error says nothing for fewer cases than this. */
export const FEWEST_FOR_INTERVAL = 20;
/** A variance that is nothing but rounding. */
const NOTHING = 1e-15;

/**
 * Kappa = (po - pe) / (1 - pe), po the share sorted alike and pe what the margins give by chance (Cohen 1960, equation
 * 1), with the large-sample standard error for a kappa that is not 0 (Fleiss, Cohen and Everitt 1969, equation 13) and
 * value +- 1.96 standard errors, cut at -1 and 1. Kappa is not measured below two cases, and where both sort every case
 * into one and the same class, for then there is nothing but chance. The interval is not measured below 20 cases, where
 * a large-sample error does not hold, nor where the standard error is 0, as it is in perfect agreement: nothing varied,
 * which is no certainty.
 * @param pairs what each of the two says of a case
 */
export function cohenKappa(pairs: readonly (readonly [string, string])[]): Agreement {
  const n = pairs.length;
  const agreed = pairs.filter(([one, other]) => one === other).length;
  const without = (reason: string): Agreement => ({ n, agreed, kappa: null, standardError: null, reason });
  if (n < 2) {
    return without('fewer than two cases');
  }
  const rows = marginOf(pairs.map(([one]) => one));
  const columns = marginOf(pairs.map(([, other]) => other));
  const share = (margin: ReadonlyMap<string, number>, name: string): number => (margin.get(name) ?? 0) / n;
  const names = [...new Set([...rows.keys(), ...columns.keys()])];
  if (names.length < 2) {
    return without('both say the same class of every case');
  }
  const observed = agreed / n;
  const expected = names.reduce((sum, name) => sum + share(rows, name) * share(columns, name), 0);
  const value = (observed - expected) / (1 - expected);
  const noInterval = (reason: string): Agreement => ({
    n,
    agreed,
    kappa: { value, low: null, high: null, n },
    standardError: null,
    reason,
  });
  if (n < FEWEST_FOR_INTERVAL) {
    return noInterval(`at least ${FEWEST_FOR_INTERVAL} labels are needed for an interval`);
  }
  const away = 1 - value;
  // Each case adds its share of the sums over cells.
  const alike = pairs.reduce(
    (sum, [one, other]) => (one === other ? sum + (1 - (share(rows, one) + share(columns, one)) * away) ** 2 / n : sum),
    0,
  );
  const apart = pairs.reduce(
    (sum, [one, other]) => (one === other ? sum : sum + (share(columns, one) + share(rows, other)) ** 2 / n),
    0,
  );
  const variance = (alike + away ** 2 * apart - (value - expected * away) ** 2) / ((1 - expected) ** 2 * n);
  if (variance <= NOTHING) {
    return noInterval('nothing varied, so no standard error can be estimated');
  }
  const standardError = Math.sqrt(variance);
  return {
    n,
    agreed,
    kappa: { value, low: Math.max(-1, value - Z * standardError), high: Math.min(1, value + Z * standardError), n },
    standardError,
    reason: null,
  };
}

function marginOf(names: readonly string[]): ReadonlyMap<string, number> {
  const margin = new Map<string, number>();
  for (const name of names) {
    margin.set(name, (margin.get(name) ?? 0) + 1);
  }
  return margin;
}

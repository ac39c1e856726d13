/** Cohen's kappa: the agreement of two classifications of the same cases beyond what their margins alone would give. */

import type { Interval } from '../../domain/credit.ts';

export interface Agreement {
  readonly n: number;
  /** Cases with the same class in both. */
  readonly agreed: number;
  /** Null if it is not measured; bounds are null if they cannot be estimated. */
  readonly kappa: Interval | null;
  readonly standardError: number | null;
  /** The reason why kappa or its interval is not measured, or null if both are. */
  readonly reason: string | null;
}

/** Two-sided 95 %. */
const Z = 1.959963984540054;
/** The large-sample standard error is not valid for fewer cases. */
export const FEWEST_FOR_INTERVAL = 20;
/** A variance up to this value is only rounding. */
const NOTHING = 1e-15;

/**
 * Returns kappa = (po - pe) / (1 - pe), with po the share of equal classes and pe the share that the
 * margins give by chance (Cohen 1960, equation 1). The standard error is the large-sample one for a
 * kappa that is not 0 (Fleiss, Cohen and Everitt 1969, equation 13), and the interval is value +- 1.96
 * standard errors, clipped at -1 and 1.
 *
 * Kappa is not measured below two cases, or if both put every case into one and the same class, since
 * there is then nothing but chance. The interval is not measured below 20 cases, where a large-sample
 * error does not hold, or if the standard error is 0, as in perfect agreement: a lack of variation is
 * not certainty.
 * @param pairs the two classes of each case
 */
export function cohenKappa(pairs: readonly (readonly [string, string])[]): Agreement {
  const n = pairs.length;
  const agreed = pairs.filter(([one, other]) => one === other).length;
  const without = (reason: string): Agreement => ({ n, agreed, kappa: null, standardError: null, reason });
  if (n < 2) {
    return without('fewer than two cases');
  }
  const rows = countMargin(pairs.map(([one]) => one));
  const columns = countMargin(pairs.map(([, other]) => other));
  const share = (margin: ReadonlyMap<string, number>, name: string): number => (margin.get(name) ?? 0) / n;
  const names = [...new Set([...rows.keys(), ...columns.keys()])];
  if (names.length < 2) {
    return without('both give every case the same class');
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

function countMargin(names: readonly string[]): ReadonlyMap<string, number> {
  const margin = new Map<string, number>();
  for (const name of names) {
    margin.set(name, (margin.get(name) ?? 0) + 1);
  }
  return margin;
}

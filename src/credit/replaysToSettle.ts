/** Estimates the number of further replays that would settle an undecided credit. */

import { MOST_MORE } from '../shared/credit/headline.ts';
import { isCapitalEnough, mixedCapital, stakeCapitals, THETAS, type Side } from './betting.ts';
import type { BucketEvidence } from './pairing.ts';

/**
 * Units without a difference that are added to the observed ones, so that a few lucky ones do not
 * promise a quick end.
 */
const PRIOR_UNITS = 2;

/** Differences are rounded to steps of one over this number, as a share of the range. */
const BINS = 100;

/**
 * Returns the replays that one further unit costs: a new draw, and the message itself on a new stream.
 * For a message that ends the episode it costs only the new draw.
 */
export const replaysPerUnit = (terminal: boolean): number => (terminal ? 1 : 2);

/**
 * Estimates the number of further replays that decide the sign, in units of one fresh draw on one
 * fresh stream. It assumes that they resemble the observed units together with PRIOR_UNITS without a
 * difference. The capital then grows by its mean logarithm.
 * @param span the range of the returns
 * @returns null beyond MOST_MORE
 */
export function estimateReplaysToSettle(
  evidence: readonly BucketEvidence[],
  span: number,
  terminal: boolean,
): number | null {
  const seen = evidence.reduce((total, { units }) => total + units, 0);
  const shares = shareDifferences(evidence, span);
  const perUnit = replaysPerUnit(terminal);
  const most = Math.floor(MOST_MORE / perUnit);
  const units = Math.min(unitsFor(1), unitsFor(-1));
  return units > most ? null : units * perUnit;

  function unitsFor(side: Side): number {
    const capitals = stakeCapitals(evidence, side, 0, span);
    const growth = THETAS.map((theta) => {
      let mean = 0;
      for (const [difference, share] of shares) {
        mean += share * Math.log(1 + theta * side * difference);
      }
      return (mean * seen) / (seen + PRIOR_UNITS);
    });
    const enough = (further: number): boolean => isCapitalEnough(mixedCapital(capitals, growth, further));
    if (!enough(most)) {
      return Infinity;
    }
    let below = 0;
    let above = most;
    // A sum of exponentials that starts below a level crosses it once.
    while (above - below > 1) {
      const middle = Math.floor((below + above) / 2);
      if (enough(middle)) {
        above = middle;
      } else {
        below = middle;
      }
    }
    return above;
  }
}

/**
 * Returns the shares of the differences between single results, in units of the range. Buckets are
 * weighted by their independent units.
 */
function shareDifferences(evidence: readonly BucketEvidence[], span: number): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  let total = 0;
  for (const { cells, units } of evidence) {
    for (const cell of cells) {
      const difference = Math.round((cell / span) * BINS) / BINS;
      counts.set(difference, (counts.get(difference) ?? 0) + units / cells.length);
    }
    total += units;
  }
  return new Map([...counts].map(([difference, count]) => [difference, count / total]));
}

/**
 * The verdict on a finding: a comparison of the team's chance at its place now and then. Both sides
 * are drawn on the same random numbers, draw by draw, so that teams with the same messages differ by
 * exactly 0. The interval is a betting confidence sequence (betting.ts), so a check may stop at any
 * look.
 */

import type { FindingDifference, FindingVerdict } from '../domain/answer.ts';
import { bettingInterval } from './betting.ts';
import { mean } from './describe.ts';

/** A smaller change of the chance, as a share of the range of returns, counts as no change. */
export const SAME = 0.1;

/** The returns of one draw then and now; null if a return could not be scored. */
export type DrawnPair = readonly [then: number | null, now: number | null];

/** Returns the verdict of the draws so far. @param span range of a return */
export function judgeFinding(
  draws: readonly DrawnPair[],
  span: number,
): { readonly verdict: FindingVerdict; readonly difference: FindingDifference | null } {
  const units = draws.flatMap(([then, now]) => (then === null || now === null ? [] : [now - then]));
  if (units.length === 0) {
    return { verdict: 'undecided', difference: null };
  }
  const value = mean(units);
  // Each draw is one independent unit.
  const interval = bettingInterval(
    units.map((one) => ({ assignments: [[one]], cells: [one], units: 1 })),
    span,
  );
  const difference = {
    value,
    low: Math.min(value, interval.low),
    high: Math.max(value, interval.high),
    n: units.length,
  };
  return { verdict: judgeDifference(difference, SAME * span), difference };
}

function judgeDifference({ low, high }: FindingDifference, same: number): FindingVerdict {
  if (low > 0) {
    return 'fixed';
  }
  if (high < 0) {
    return 'worse';
  }
  return low >= -same && high <= same ? 'held' : 'undecided';
}

/** C3's estimator: an alternative against the count-weighted mean of the others (eq. 13 to 15). */

import type { Aggregate, Estimate } from '../aggregate.ts';
import { NO_BOUNDS } from '../bounds.ts';
import type { Estimator } from '../estimator.ts';
import { combineOthers, MOST_AFRESH } from '../leftOut.ts';
import { compareWithSiblings } from '../siblings.ts';

/**
 * The interval is that of the alternative's expected return minus that of the policy's messages in its
 * context. The others are draws of these messages (siblings.ts). A terminal role's alternative has a
 * single return: its interval is wide.
 */
export const loo = {
  name: 'loo',
  label: 'replace (leave-one-out)',
  words: 'Leave-one-out: the baseline is the mean of the other alternatives.',
  needs: 'returns',
  configurable: true,
  diagnosed: 'loo',
  estimate: (aggregates) => leaveOneOut(aggregates),
  bounds: (compared) => compareWithSiblings(compared) ?? NO_BOUNDS,
} as const satisfies Estimator;

/** The sum of the returns of some alternatives. */
interface Sum {
  readonly weighted: number;
  readonly count: number;
}

const NOTHING: Sum = { weighted: 0, count: 0 };

/**
 * Returns leave-one-out baseline and credit, with c_i returns of alternative i with mean R_i:
 *
 *   b_-j = sum over i != j of c_i R_i / sum over i != j of c_i    (14)
 *   A_j  = R_j - b_-j                                             (15)
 *
 * The credit is unbiased for the gradient of the expected return (eq. 21, with the factor 1/N) because
 * b_-j does not depend on alternative j. This needs independent alternatives, so duplicates must stay
 * in. An alternative without any other is its own baseline and has credit 0.
 * @returns one estimate per alternative, in order; null for one without a return
 */
export function leaveOneOut(alternatives: readonly Pick<Aggregate, 'mean' | 'count'>[]): (Estimate | null)[] {
  const sums = alternatives.map(({ mean, count }): Sum =>
    mean === null ? NOTHING : { weighted: count * mean, count },
  );
  const others =
    sums.length ** 2 > MOST_AFRESH
      ? combineOthers(sums, addSums, NOTHING)
      : sums.map((_, index) => sumOfOthers(sums, index));
  return alternatives.map((alternative, index) => {
    if (alternative.mean === null || alternative.count === 0) {
      return null;
    }
    const { weighted, count } = others[index] ?? NOTHING;
    const baseline = count === 0 ? alternative.mean : weighted / count;
    return { baseline, credit: alternative.mean - baseline };
  });
}

const addSums = (one: Sum, other: Sum): Sum => ({
  weighted: one.weighted + other.weighted,
  count: one.count + other.count,
});

/** Adds the others one by one, because subtracting from a total would lose digits. */
function sumOfOthers(sums: readonly Sum[], index: number): Sum {
  let [weighted, count] = [0, 0];
  for (let other = 0; other < sums.length; other++) {
    if (other === index) {
      continue;
    }
    weighted += sums[other]?.weighted ?? 0;
    count += sums[other]?.count ?? 0;
  }
  return { weighted, count };
}

/** C3's estimator: an alternative against the count-weighted mean of the others (eq. 13 to 15). */
import type { Aggregate, Estimate } from './aggregate.ts';

/**
 * Leave-one-out baseline b_-j = sum over i != j of c_i R_i / sum over i != j of c_i, and credit A_j = R_j - b_-j.
 *
 * Unbiased for the gradient of the expected return (eq. 21, with the factor 1/N) because b_-j does not depend on alternative j;
 * that needs independent alternatives, so duplicates must stay in. An alternative without any other to compare with gets itself as
 * the baseline and credit 0.
 * @returns one estimate per alternative, in order; null for one without a return
 */
export function leaveOneOut(alternatives: readonly Pick<Aggregate, 'mean' | 'count'>[]): (Estimate | null)[] {
  return alternatives.map((alternative, index) => {
    if (alternative.mean === null || alternative.count === 0) return null;
    let weighted = 0;
    let count = 0;
    // Summed afresh for each alternative: subtracting it from a total would lose digits.
    for (const [other, { mean, count: weight }] of alternatives.entries()) {
      if (other === index || mean === null) continue;
      weighted += weight * mean;
      count += weight;
    }
    const baseline = count === 0 ? alternative.mean : weighted / count;
    return { baseline, credit: alternative.mean - baseline };
  });
}

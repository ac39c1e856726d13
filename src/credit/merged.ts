/**
 * Credits of messages of one context, some of which may be equal: the messages of all its groups in an
 * iteration, as C3's Algorithm 1 keys them by context.
 */

import type { Credit } from '../shared/credit/credit.ts';
import { creditIfComparable } from './compared.ts';
import type { AlternativeInput, CreditGroup, CreditInput } from './estimator.ts';
import { requireEstimator, type CreditEstimator } from './estimators.ts';

export interface MergedMember extends AlternativeInput {
  /** Equal for equal messages. */
  readonly text: string;
  /** Equal for copies: equal messages on the same numbers, of which only the first adds information. */
  readonly draw: string;
}

/** The credit of a message: shared with equal messages, and from its own returns. */
export interface MergedCredit {
  readonly shared: Credit | null;
  readonly own: Credit | null;
}

/**
 * Compares every draw with the others. Equal messages share the mean of their credits. With J draws
 * that have equal counts of returns, a text that was drawn k times with the mean return R gets
 *
 *   A = J / (J - 1) * (R - mean of all returns)
 *
 * and k A is the sum of the credits of its single draws: the estimate of the gradient is the same, and
 * equally unbiased. Equal texts must not be left out of each other's baseline, because that would make
 * the baseline depend on the draws. If all texts are equal, A is 0.
 *
 * Copies are one draw. The interval is that of the difference between a text's returns and those of
 * the other texts, scaled like the credit.
 * @returns in order; null if there is nothing to compare
 * @throws C3Error('input') as creditGroup
 */
export function creditEqualMessages(
  members: readonly MergedMember[],
  estimator: CreditEstimator,
  alpha?: number,
): MergedCredit[] {
  const copies = Map.groupBy(members, ({ draw }) => draw);
  const draws = [...copies.values()].flatMap((same) => {
    const [first] = same;
    return first === undefined ? [] : [{ ...first, evaluatorCalls: sumMergedCalls(same) }];
  });
  const own = creditIfComparable(draws, estimator, alpha);
  const { needs } = requireEstimator(estimator);
  const byReturns =
    needs === 'returns' || (needs === 'outside returns' && draws.every(({ outside }) => outside === undefined));
  const shared = shareCredits(draws, own, byReturns, (texts) => creditIfComparable(texts, estimator, alpha));
  const byDraw = new Map(
    draws.map(({ draw }, index) => [draw, { own: own[index] ?? null, shared: shared[index] ?? null }]),
  );
  return members.map(({ draw }) => byDraw.get(draw) ?? { own: null, shared: null });
}

/**
 * Returns the credits of draws, with one credit for equal draws.
 * @param byReturns true if a group of equal messages has credit 0; with learned values or a mean outside it may differ
 */
function shareCredits(
  draws: readonly MergedMember[],
  own: readonly (Credit | null)[],
  byReturns: boolean,
  compare: (texts: CreditGroup['alternatives']) => readonly (Credit | null)[],
): readonly (Credit | null)[] {
  const texts = [...Map.groupBy(draws.keys(), (index) => draws[index]?.text ?? '').values()];
  if (texts.length === draws.length) {
    return own;
  }
  const compared = compare(texts.map((indices) => mergeDraws(indices.flatMap((index) => draws[index] ?? []))));
  const shared = [...own];
  for (const [text, indices] of texts.entries()) {
    const credits = indices.flatMap((index) => own[index] ?? []);
    const [first] = credits;
    if (indices.length < 2 || first === undefined) {
      continue;
    }
    // If all are equal, their expectations are equal, too.
    const value =
      byReturns && texts.length === 1 ? 0 : credits.reduce((sum, one) => sum + one.value, 0) / credits.length;
    const credit: Credit = { ...first, value, ...scaleCreditBounds(value, compared[text] ?? null) };
    for (const index of indices) {
      shared[index] = own[index] === null ? null : credit;
    }
  }
  return shared;
}

const sumMergedCalls = (members: readonly CreditInput[]): number =>
  members.reduce((sum, { evaluatorCalls }) => sum + evaluatorCalls, 0);

/** Combines draws of one text into one alternative. */
export const mergeDraws = (draws: readonly MergedMember[]): CreditGroup['alternatives'][number] => ({
  returns: draws.flatMap(({ returns }) => returns),
  evaluatorCalls: sumMergedCalls(draws),
  value: draws[0]?.value,
  outside: draws[0]?.outside,
});

/**
 * Returns the bounds of a text's difference from the others, scaled like its credit. Draws with
 * unequal counts of returns may have a credit that is not a share of that difference; it then has no
 * bounds.
 */
export function scaleCreditBounds(value: number, difference: Credit | null): Pick<Credit, 'low' | 'high' | 'interval'> {
  const share = difference === null || value === difference.value ? 1 : value / difference.value;
  if (difference === null || difference.low === null || difference.high === null || !(share >= 0 && share < Infinity)) {
    return { low: null, high: null, interval: 'none' };
  }
  return { low: share * difference.low, high: share * difference.high, interval: difference.interval };
}

/**
 * The certificates of TeamTR for a step (reference section 5): lower bounds on how much its updates
 * change the discounted return J. They follow from the estimated gain of each role's update on the
 * episodes that it learned from, and from the KL of the update. The certificates have a discount of
 * their own, because with the usual discounts they are vacuous.
 */

import { mean } from '../credit/describe.ts';
import type { Move } from './divergence.ts';

/** The outcome of one role's update. */
export interface CertifiedTurn {
  /** Mean advantage estimate over the episodes' occupancy and the new policy, in units of the return. */
  readonly advantage: number;
  /** KL of the old policy from the new one over that occupancy, in nats; below 0 it counts as 0. */
  readonly kl: number;
  /** zeta: the mean error of the advantage estimate. */
  readonly error: number;
  /**
   * True if the episodes were sampled by the team after the turns before; false if the turn reused the
   * episodes of the turn before. The episodes of the first turn are always fresh.
   */
  readonly fresh: boolean;
}

export interface BoundSettings {
  /** The discount, at least 0 and below 1. */
  readonly gamma: number;
  /** A_max: the largest absolute advantage. */
  readonly bound: number;
}

/**
 * Returns the occupancy-shift bound: the largest change of the mean of any function within -1 and 1
 * over the discounted occupancy when a policy moves by a KL. It also bounds the L1 distance of the
 * occupancies, which is never above 2.
 *
 *   |E_d' f - E_d f|  <=  sqrt(2) gamma / (1 - gamma) sqrt(KL)
 *
 * @param kl in nats, over the occupancy d; below 0 it counts as 0
 */
export const boundOccupancyShift = (kl: number, gamma: number): number =>
  ((Math.SQRT2 * gamma) / (1 - gamma)) * Math.sqrt(Math.max(0, kl));

/**
 * Returns the certificate of a step:
 *
 *   J' - J  >=  sum_i (advantage_i - zeta_i) / (1 - gamma)  -  A_max / (1 - gamma) sum_i (s_i + sum over k of s_k)
 *
 * s is the occupancy-shift bound of a turn, and k runs over the turns before i since its episodes were
 * sampled: none if all episodes are fresh (the intermediate certificate), all turns before it if only
 * the first turn's are (the stale certificate).
 * @returns in units of the return; a value that is not positive certifies no improvement
 */
export function computeCertificate(turns: readonly CertifiedTurn[], { gamma, bound }: BoundSettings): number {
  let [promised, shifted, since] = [0, 0, 0];
  for (const { advantage, kl, error, fresh } of turns) {
    const shift = boundOccupancyShift(kl, gamma);
    since = fresh ? 0 : since;
    promised += advantage - error;
    shifted += shift + since;
    since += shift;
  }
  return (promised - bound * shifted) / (1 - gamma);
}

/**
 * Returns the amount to subtract from the certificate so that it holds with a probability when its
 * advantages are means over groups of episodes:
 *
 *   sum_i bound / (1 - gamma) ((1 + clip) sqrt(2 ln(2 n / failure) / N_i) + sqrt(2 KL_i))
 *
 * for n turns; the second part is the bias of the clipped ratios.
 * @param turns with N_i, the number of groups; a group holds the episodes of one problem
 * @param settings bound: of the advantage estimates; clip: ratios are within 1 - clip and 1 + clip;
 *   failure: the probability that the certificate does not hold
 */
export function computeConfidenceCost(
  turns: readonly (Pick<CertifiedTurn, 'kl'> & { readonly groups: number })[],
  { gamma, bound, clip, failure }: BoundSettings & { readonly clip: number; readonly failure: number },
): number {
  const spread = 2 * Math.log((2 * turns.length) / failure);
  return turns.reduce(
    (sum, { kl, groups }) =>
      sum + (bound / (1 - gamma)) * ((1 + clip) * Math.sqrt(spread / groups) + Math.sqrt(2 * Math.max(0, kl))),
    0,
  );
}

/**
 * Returns true if a certificate is vacuous: it says no more than the bound on advantages alone,
 * because J' - J is a mean of advantages over 1 - gamma (the performance-difference lemma).
 */
export const isVacuous = (value: number, { gamma, bound }: BoundSettings): boolean => value <= -bound / (1 - gamma);

/** Bound on the logarithm of a message's ratio, as in the loss. */
const LOG_RATIO_BOUND = 10;

/**
 * Estimates the gain of an update from a role's messages. With the ratios w of whole messages and the
 * clipped ratios w~,
 *
 *   advantage = mean of (w~ - 1) A        error = mean of |A| |w - w~|
 *
 * A is the return minus the mean return of the problem's other episodes. Under the old policy the mean
 * of A is 0 except for chance, so (w~ - 1) A estimates the same as w~ A, with less noise. The error is
 * the remaining part of the paper's zeta proxy, because A is neither clipped nor standardized.
 * @returns null without messages
 */
export function estimatePromise(
  moves: readonly Pick<Move, 'worth' | 'logRatio'>[],
  clip: number,
): Pick<CertifiedTurn, 'advantage' | 'error'> | null {
  if (moves.length === 0) {
    return null;
  }
  const terms = moves.map(({ worth, logRatio }) => {
    const ratio = Math.exp(Math.min(LOG_RATIO_BOUND, Math.max(-LOG_RATIO_BOUND, logRatio)));
    const clipped = Math.min(1 + clip, Math.max(1 - clip, ratio));
    return { gain: (clipped - 1) * worth, cut: Math.abs(worth) * Math.abs(ratio - clipped) };
  });
  return { advantage: mean(terms.map(({ gain }) => gain)), error: mean(terms.map(({ cut }) => cut)) };
}

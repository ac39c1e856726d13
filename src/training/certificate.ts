/**
 * What TeamTR certifies of a step (reference section 5): bounds from below on how much its updates change the
 * discounted return J, from what each role's update promises on the episodes it learned from and how far it moved.
 * They have a discount of their own, for with the usual ones they say nothing.
 */
import { mean } from '../credit/describe.ts';
import type { Move } from './divergence.ts';

/** What a role's update came to. */
export interface CertifiedTurn {
  /** E of the advantage estimate over the occupancy of its episodes and the new policy, in units of the return. */
  readonly advantage: number;
  /** KL of the old policy from the new one over the same occupancy, in nats; an estimate below 0 counts as 0. */
  readonly kl: number;
  /** zeta: how far the advantage estimate is off on the average. */
  readonly error: number;
  /**
   * Whether the team as the turns before left it sampled its episodes; else it learned from those of the turn before.
   * The first turn's are fresh whatever this says.
   */
  readonly fresh: boolean;
}

export interface BoundSettings {
  /** The discount, at least 0 and below 1. */
  readonly gamma: number;
  /** A_max: how far any advantage is from 0, at most. */
  readonly bound: number;
}

/**
 * The occupancy-shift bound: how far the mean of any function within -1 and 1 moves with the discounted occupancy, at
 * most, where a policy moves by a KL; so also the L1 distance of the occupancies, which is never above 2.
 *
 *   |E_d' f - E_d f|  <=  sqrt(2) gamma / (1 - gamma) sqrt(KL)
 *
 * @param kl in nats, over the occupancy d; below 0 it counts as 0
 */
export const occupancyShift = (kl: number, gamma: number): number =>
  ((Math.SQRT2 * gamma) / (1 - gamma)) * Math.sqrt(Math.max(0, kl));

/**
 * The certificate of a step:
 *
 *   J' - J  >=  sum_i (advantage_i - zeta_i) / (1 - gamma)  -  A_max / (1 - gamma) sum_i (s_i + sum over k of s_k)
 *
 * s being the occupancy-shift bound of a turn, and k the turns before i since its episodes were sampled: none where all
 * are fresh (the intermediate certificate), all turns before it where only the first is (the stale one).
 * @returns in units of the return; not positive: it certifies no improvement
 */
export function certificate(turns: readonly CertifiedTurn[], { gamma, bound }: BoundSettings): number {
  let [promised, shifted, since] = [0, 0, 0];
  for (const { advantage, kl, error, fresh } of turns) {
    const shift = occupancyShift(kl, gamma);
    since = fresh ? 0 : since;
    promised += advantage - error;
    shifted += shift + since;
    since += shift;
  }
  return (promised - bound * shifted) / (1 - gamma);
}

/**
 * What the certificate loses so that it holds with a probability, its advantages being means over groups of episodes:
 *
 *   sum_i bound / (1 - gamma) ((1 + clip) sqrt(2 ln(2 n / failure) / N_i) + sqrt(2 KL_i))
 *
 * of n turns; the second part is the bias of the clipped ratios.
 * @param turns with N_i, the number of groups, which are episodes of one problem each
 * @param settings bound: of the advantage estimates; clip: ratios are within 1 - clip and 1 + clip; failure: with which
 *   probability it may not hold
 */
export function confidenceCost(
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
 * Whether a certificate is vacuous: it says no more than the bound on advantages alone, as J' - J is a mean of
 * advantages over 1 - gamma (the performance-difference lemma).
 */
export const isVacuous = (value: number, { gamma, bound }: BoundSettings): boolean => value <= -bound / (1 - gamma);

/** Bound on the logarithm of a message's ratio, as in the loss. */
const LOG_RATIO_BOUND = 10;

/**
 * What a role's messages promise of its update: with ratios w of whole messages and w~ the clipped ones,
 *
 *   advantage = mean of (w~ - 1) A        error = mean of |A| |w - w~|
 *
 * A being the return less the mean return of the problem's other episodes. Under the old policy the mean of A is 0 but
 * for chance, so that (w~ - 1) A estimates what w~ A does, with less noise. The error is the part of the paper's zeta
 * proxy that is left: A is neither clipped nor standardized.
 * @returns null without a message
 */
export function promiseOf(
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

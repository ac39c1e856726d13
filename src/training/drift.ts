/**
 * Measures how far a team that is updated role by role drifts within a step from its sampled episodes,
 * and the errors of the estimates that guide its updates (TeamTR reference sections 5 and 6).
 */

import { mean } from '../credit/describe.ts';
import { standardScore, type Standardization } from '../credit/standardScore.ts';
import type { Move } from './divergence.ts';
import { shuffleItems } from './shuffled.ts';

/** Bound on the logarithm of a weight, as in the loss. */
const LARGEST_LOG = 10;
const toBoundedWeight = (log: number): number => Math.exp(Math.min(LARGEST_LOG, Math.max(-LARGEST_LOG, log)));

/** A message of the first episodes of a step, before and after a turn of the team. */
export type StaleMessage = Pick<Move, 'episode' | 'place' | 'worth'> & {
  /** log now - log sampled, summed over its tokens. */
  readonly before: number;
  readonly after: number;
  /** True if the role whose turn it is said the message. */
  readonly own: boolean;
};

export interface Staleness {
  /**
   * Absolute difference between L of the turn on the current team's occupancy and L on the occupancy
   * at the start of the step: the mean over the role's messages of
   *
   *   (W - 1) (w~ - 1) A / (1 - gamma)
   *
   * W is the weight of the episode for the team before the turn, w the message's ratio in the turn and
   * w~ the clipped ratio. An expectation over the current team equals one over the first episodes, each
   * weighted by W.
   */
  readonly gap: number;
  /** Total variation of the teams' contexts: half the mean over places of |W of earlier messages - 1|. */
  readonly drift: number;
}

/**
 * Measures the error of a turn that learns from the first episodes of its step. It needs no other
 * episodes: both sides of a difference are estimated on the same episodes, so the result is exactly 0
 * if nothing has changed.
 * @param messages all messages of the episodes
 * @returns null if the role has no message
 */
export function measureStaleness(
  messages: readonly StaleMessage[],
  { clip, gamma }: { readonly clip: number; readonly gamma: number },
): Staleness | null {
  const gaps: number[] = [];
  const distances: number[] = [];
  for (const episode of Map.groupBy(messages, (one) => one.episode).values()) {
    const inOrder = episode.toSorted((one, other) => one.place - other.place);
    const whole = toBoundedWeight(inOrder.reduce((sum, { before }) => sum + before, 0));
    let earlier = 0;
    for (const { before, after, own, worth } of inOrder) {
      distances.push(Math.abs(toBoundedWeight(earlier) - 1) / 2);
      earlier += before;
      if (own) {
        const ratio = Math.min(1 + clip, Math.max(1 - clip, toBoundedWeight(after - before)));
        gaps.push((whole - 1) * (ratio - 1) * worth);
      }
    }
  }
  return gaps.length === 0 ? null : { gap: Math.abs(mean(gaps)) / (1 - gamma), drift: mean(distances) };
}

/** The measurable parts of zeta, in standard deviations of the return (TeamTR reference section 5). */
export interface ZetaProxy {
  /** Mean of |a - a~|, with the standard score a and the clipped score a~. */
  readonly clip: number;
  /** Mean of |a~| |w - w~|, with the ratio w and the clipped ratio w~. */
  readonly ratio: number;
  /**
   * The dependence on a group's statistics: each group is split in random halves, and each episode's
   * clipped score by its own half is compared with the score by the other half. The value is the mean
   * distance over some splits.
   */
  readonly norm: number;
}

/** Random splits of each group. */
const SPLITS = 4;

/**
 * Measures the zeta proxy of an update.
 * @param moves of a role's messages
 * @param draw random numbers in [0, 1) by their position
 * @returns null without messages
 */
export function measureZetaProxy(
  moves: readonly Pick<Move, 'episode' | 'problem' | 'worth' | 'logRatio'>[],
  { clip, standard }: { readonly clip: number; readonly standard: Standardization },
  draw: (position: number) => number,
): ZetaProxy | null {
  if (moves.length === 0) {
    return null;
  }
  const cuts: number[] = [];
  const ratios: number[] = [];
  const halves: number[] = [];
  let drawn = 0;
  for (const group of Map.groupBy(moves, ({ problem }) => problem).values()) {
    const worths = new Map(group.map(({ episode, worth }) => [episode, worth]));
    const returns = [...worths.values()].map((worth) => (worth * (worths.size - 1)) / worths.size);
    const [free, cut] = [null, standard.clip].map((most) => standardScore(returns, { ...standard, clip: most }));
    for (const { worth, logRatio } of group) {
      const value = (worth * (worths.size - 1)) / worths.size;
      const score = cut?.(value) ?? 0;
      const ratio = toBoundedWeight(logRatio);
      cuts.push(Math.abs((free?.(value) ?? 0) - score));
      ratios.push(Math.abs(score) * Math.abs(ratio - Math.min(1 + clip, Math.max(1 - clip, ratio))));
    }
    for (let split = 0; split < SPLITS && returns.length >= 4; split++) {
      const begin = drawn;
      drawn += returns.length;
      const order = shuffleItems(returns, (position) => draw(begin + position));
      const half = Math.floor(order.length / 2);
      const [one, other] = [order.slice(0, half), order.slice(half)];
      for (const [own, others] of [
        [one, other],
        [other, one],
      ] as const) {
        const [mine, theirs] = [standardScore(own, standard), standardScore(others, standard)];
        halves.push(...own.map((value) => Math.abs(mine(value) - theirs(value))));
      }
    }
  }
  return { clip: mean(cuts), ratio: mean(ratios), norm: halves.length === 0 ? 0 : mean(halves) };
}

/** The KL of messages, estimated from a part of their tokens. */
export interface Subsampled {
  /** |KL of the part - KL| / delta for each sample. */
  readonly errors: readonly number[];
  /** True for each sample that decides differently from the full KL; empty far from the bound. */
  readonly flips: readonly boolean[];
}

/** The number of samples of the tokens. */
const SAMPLES = 8;
/** A KL between these shares of the bound counts as near it. */
const NEAR = [0.8, 1.2] as const;

/**
 * Measures the error of a KL that uses only a share of the token positions. Each position is kept with
 * this probability, and the kept terms are divided by it, so that the mean is unbiased.
 * @param draw random numbers in [0, 1) by their position
 */
export function measureSubsampledKl(
  moves: readonly Pick<Move, 'tokens'>[],
  { share, delta, estimator }: { readonly share: number; readonly delta: number; readonly estimator: 'k1' | 'k3' },
  draw: (position: number) => number,
): Subsampled {
  const terms = moves.map(({ tokens }) => tokens.map((d) => (estimator === 'k1' ? -d : Math.expm1(d) - d)));
  if (terms.length === 0) {
    return { errors: [], flips: [] };
  }
  const whole = mean(terms.map((own) => own.reduce((sum, one) => sum + one, 0)));
  let position = 0;
  const found = Array.from({ length: SAMPLES }, () =>
    mean(terms.map((own) => own.reduce((sum, one) => sum + (draw(position++) < share ? one / share : 0), 0))),
  );
  const [least, most] = NEAR;
  const isNear = whole >= least * delta && whole <= most * delta;
  return {
    errors: found.map((kl) => Math.abs(kl - whole) / delta),
    flips: isNear ? found.map((kl) => kl > delta !== whole > delta) : [],
  };
}

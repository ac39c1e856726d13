/**
 * The share of a message in the variance of a return: rho, from replays, and its prediction of the
 * variance of C3's and MAGRPO's gradients.
 *
 * In a context h, alternative j of a message is replayed c_j times. With R the return,
 *
 *   upstream   = Var(E[R | h, message])    the part that the message decides
 *   downstream = E[Var(R | h, message)]    the part that later messages decide
 *   rho        = E[upstream] / E[downstream]    over contexts
 */

import { mean } from '../credit/describe.ts';
import { ratioOfMeans } from '../credit/ratio.ts';
import type { Interval } from '../domain/credit.ts';

/** Alternatives of one message in one context, each with the returns of its replays. */
export type PilotContext = readonly (readonly number[])[];

export interface Components {
  readonly upstream: number;
  readonly downstream: number;
}

export interface Rho extends Interval {
  /** Means over contexts. */
  readonly components: Components;
}

/**
 * Returns the two components in one context, both unbiased: the analysis of variance with unequal
 * group sizes (Searle, Casella and McCulloch, Variance Components, 1992, section 3.6). `upstream` may
 * be below 0.
 * @returns null unless there are two alternatives, and one with two replays
 */
export function varianceComponents(context: PilotContext): Components | null {
  const groups = context.filter((returns) => returns.length > 0);
  const sizes = groups.map((returns) => returns.length);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (groups.length < 2 || total === groups.length) {
    return null;
  }
  const grand = mean(groups.flat());
  let [between, within] = [0, 0];
  for (const returns of groups) {
    const own = mean(returns);
    between += returns.length * (own - grand) ** 2;
    within += returns.reduce((sum, value) => sum + (value - own) ** 2, 0);
  }
  const downstream = within / (total - groups.length);
  const size = (total - sizes.reduce((sum, one) => sum + one ** 2, 0) / total) / (groups.length - 1);
  return { upstream: (between / (groups.length - 1) - downstream) / size, downstream };
}

/**
 * Returns rho over contexts of one sampling, with Fieller's 95 % interval of a ratio of two means
 * (Fieller, Journal of the Royal Statistical Society B 16, 1954). Its lower bound is at least 0,
 * because rho is.
 * @returns null without a context that has both components, or if nothing is left downstream; null
 *   bounds if there are too few contexts to bound it
 */
export function estimateRho(contexts: readonly PilotContext[]): Rho | null {
  const all = contexts.flatMap((context) => varianceComponents(context) ?? []);
  const up = all.map(({ upstream }) => upstream);
  const down = all.map(({ downstream }) => downstream);
  const n = all.length;
  const components = n === 0 ? null : { upstream: mean(up), downstream: mean(down) };
  if (components === null || components.downstream <= 0) {
    return null;
  }
  const { upstream, downstream } = components;
  const value = upstream / downstream;
  const { low, high } = ratioOfMeans(up, down);
  return {
    value,
    low: low === null ? null : Math.max(0, low),
    high: high === null ? null : Math.max(0, high),
    n,
    components,
  };
}

/**
 * Returns the variance of C3's gradient at each position divided by that of MAGRPO's, at equal
 * evaluator calls. Above 1, C3's gradient is noisier.
 *
 * Both estimate a covariance of returns with a direction of the policy that explains little of the
 * returns. Its variance is therefore that of the compared returns divided by the degrees of freedom.
 * With v_k the variance of the return that message k adds, f the fan-out and G whole episodes,
 *
 *   C3:     (v_i + sum over k > i of v_k / (f_(i+1) ... f_k)) / (f_1 ... f_(i-1) (f_i - 1))
 *   MAGRPO: (sum over k of v_k) / (G - 1)
 *
 * For `[2, 4]` against 8 episodes: 7 (rho + 1/4) / (1 + rho) for the first message and (7/6) / (1 +
 * rho) for the second.
 * @param components v, by position
 * @param fanout f, by position; missing positions count as 1
 * @param episodes G
 * @returns null for a position without siblings to compare, and if no return varies
 */
export function predictVarianceRatios(
  components: readonly number[],
  fanout: readonly number[],
  episodes: number,
): readonly (number | null)[] {
  const total = components.reduce((sum, one) => sum + one, 0);
  let contexts = 1;
  return components.map((own, position) => {
    const siblings = fanout[position] ?? 1;
    let [noise, leaves] = [own, 1];
    for (const [later, one] of components.entries()) {
      if (later > position) {
        leaves *= fanout[later] ?? 1;
        noise += one / leaves;
      }
    }
    const degrees = contexts * (siblings - 1);
    contexts *= siblings;
    return degrees === 0 || total <= 0 || episodes < 2 ? null : ((episodes - 1) * noise) / (degrees * total);
  });
}

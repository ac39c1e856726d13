/** Losses of a run's episodes: how many of them were within reach, and the share of each part in that. */

import type { Interval } from '../domain/credit.ts';
import { wilsonInterval } from './interval.ts';
import { ratioOfMeans } from './ratio.ts';

/** The loss in an episode, in episodes: V_0 minus the return, divided among roles, turns or others. */
export interface EpisodeLosses {
  /** Episodes of one problem are not independent. */
  readonly problem: string;
  /** By part; negative if its messages raised the chance. */
  readonly parts: ReadonlyMap<string, number>;
}

export interface LossShares {
  /** Number of lost episodes that the team would win on average if it tried them again. */
  readonly withinReach: Interval;
  /** The share of each part in `withinReach`; the shares add up to 1. Empty if nothing was within reach. */
  readonly shares: ReadonlyMap<string, Interval>;
}

/**
 * Adds losses over episodes. Intervals are Fieller's over problems (ratio.ts): they include
 * differences between problems, and between the replays of one problem.
 * @param episodes a random sample of the lost ones
 * @param lost number of lost episodes
 */
export function measureLossShares(episodes: readonly EpisodeLosses[], lost: number): LossShares {
  if (episodes.length === 0) {
    return { withinReach: { value: 0, low: 0, high: lost, n: 0 }, shares: new Map() };
  }
  const problems = [...Map.groupBy(episodes, ({ problem }) => problem).values()];
  const sumOf = (of: readonly EpisodeLosses[], name: string): number =>
    of.reduce((sum, { parts }) => sum + (parts.get(name) ?? 0), 0);
  const names = [...new Set(episodes.flatMap(({ parts }) => [...parts.keys()]))];
  const all = problems.map((of) => names.reduce((sum, name) => sum + sumOf(of, name), 0));
  const each = ratioOfMeans(
    all,
    problems.map(({ length }) => length),
  );
  const within = (share: number): number => lost * Math.min(1, Math.max(0, share));
  // If nothing was ever won, there is no spread to estimate the uncertainty from.
  const atMost = all.every((one) => one === 0) ? (wilsonInterval(0, all.length)?.high ?? 1) : 1;
  return {
    withinReach: {
      value: within(each.value),
      low: within(each.low ?? 0),
      high: within(each.high ?? atMost),
      n: episodes.length,
    },
    shares: new Map(
      (each.value > 0 ? names : []).map((name) => [
        name,
        ratioOfMeans(
          problems.map((of) => sumOf(of, name)),
          all,
        ),
      ]),
    ),
  };
}

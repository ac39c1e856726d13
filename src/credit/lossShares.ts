/** What loses the episodes of a run: how much was within reach, and which share of that each part lost. */
import type { Interval } from '../domain/credit.ts';
import { wilson } from './interval.ts';
import { ratioOfMeans } from './ratio.ts';

/** What was lost in an episode, in episodes: V_0 less the return, divided among roles, turns or the like. */
export interface EpisodeLosses {
  /** Episodes of one problem are no independent ones. */
  readonly problem: string;
  /** By part; negative where its messages raised the chance. */
  readonly parts: ReadonlyMap<string, number>;
}

export interface LossShares {
  /** How many of the lost episodes the team would win when it tried them again, on average. */
  readonly withinReach: Interval;
  /** By part: its share of that; the shares add up to 1. Empty where nothing was within reach. */
  readonly shares: ReadonlyMap<string, Interval>;
}

/**
 * Sums over episodes. Intervals are Fieller's over problems (ratio.ts): they hold what differs between problems, and
 * between the replays of one.
 * @param episodes a random sample of the lost ones
 * @param lost how many episodes were lost
 */
export function lossShares(episodes: readonly EpisodeLosses[], lost: number): LossShares {
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
  // Where nothing was ever won there is no spread to tell how sure that is.
  const atMost = all.every((one) => one === 0) ? (wilson(0, all.length)?.high ?? 1) : 1;
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

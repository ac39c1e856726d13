/** MAGRPO's credit: whole episodes of one instance against the mean of their group, the same for every role (C3 appendix H; reference section 4.2). */
import type { Aggregate, Estimate } from './aggregate.ts';

/** Every return of every alternative is one episode of the group. */
interface Episodes {
  readonly total: number;
  readonly count: number;
}

function episodesOf(alternatives: readonly Pick<Aggregate, 'mean' | 'count'>[]): Episodes {
  let [total, count] = [0, 0];
  for (const { mean, count: own } of alternatives) {
    total += own * (mean ?? 0);
    count += own;
  }
  return { total, count };
}

/**
 * Group centring: b = the mean over all episodes, A_j = R_j - b (the published default `group_mean`, without its scaling).
 *
 * Over the alternatives of one context this is the full mean; what sets MAGRPO apart is the group, which is all episodes of an instance
 * whatever their contexts. Its sums weight every episode alike.
 * @returns one estimate per alternative, in order; null for one without a return
 */
export function episodeMean(alternatives: readonly Pick<Aggregate, 'mean' | 'count'>[]): (Estimate | null)[] {
  const { total, count } = episodesOf(alternatives);
  const baseline = total / count;
  return alternatives.map(({ mean, count: own }) => (mean === null || own === 0 ? null : { baseline, credit: mean - baseline }));
}

/**
 * Leave-one-out over episodes (`rloo`): an episode against the mean of all others, those of its own alternative included; an
 * alternative's credit is the mean over its episodes.
 *
 * With n episodes it equals n / (n - 1) times group centring. With one return per alternative it equals C3's leave-one-out; with
 * more it does not, because the other replays of the same alternative stand in its baseline. A lone episode has credit 0.
 * @returns one estimate per alternative, in order; null for one without a return
 */
export function episodeLeaveOneOut(alternatives: readonly Pick<Aggregate, 'mean' | 'count'>[]): (Estimate | null)[] {
  const { total, count } = episodesOf(alternatives);
  return alternatives.map(({ mean, count: own }) => {
    if (mean === null || own === 0) return null;
    const baseline = count === 1 ? mean : (total - mean) / (count - 1);
    return { baseline, credit: mean - baseline };
  });
}

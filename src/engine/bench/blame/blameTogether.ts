/** Searches for what lost the episodes of a run, all of them together, and what came of them beside the truth. */
import { setImmediate } from 'node:timers/promises';
import { fitCurves } from '../../../credit/pooledCurves.ts';
import { countsOf, decideTogether, isRead, type CurveVerdict } from '../../../credit/valueCurve.ts';
import { CancelledError } from '../../../shared/errors.ts';
import { isWrong, pairsTogether, RANGE, truthOf, type Order, type Pairs } from './blameSearch.ts';
import { isTerminalAt, Numbers, type LostEpisode } from './enumeratedTeams.ts';

export interface SearchedTogether {
  readonly decided: boolean;
  readonly isWrong: boolean;
  readonly calls: number;
}

interface Read {
  readonly episode: LostEpisode;
  readonly numbers: Numbers;
  readonly pairs: Pairs;
  calls: number;
  found: CurveVerdict;
}

const NOTHING: CurveVerdict = { verdict: 'undecided', places: [], next: 0 };

/**
 * Reads the episodes of a run until each is decided, or to the budget of each: every point of each first, then where
 * the search looks next, or every point again.
 * @throws CancelledError
 */
export async function searchTogether(
  episodes: readonly LostEpisode[],
  order: Order,
  budget: number,
  signal: AbortSignal,
): Promise<SearchedTogether[]> {
  const read = episodes.map((episode, index): Read => ({
    episode,
    numbers: new Numbers(order === 'search' ? 3 : 4, index),
    pairs: episode.said.map(() => []),
    calls: 0,
    found: NOTHING,
  }));
  for (let first = true; ; first = false) {
    const open = read.filter(({ found, calls }) => found.next !== null && calls < budget);
    if (open.length === 0) {
      return read.map(({ episode, calls, found }) => ({
        decided: found.next === null,
        isWrong: isWrong(found.verdict, found.places, truthOf(episode)),
        calls,
      }));
    }
    for (const one of open) {
      const everywhere = first || order === 'in turn';
      for (const place of everywhere ? one.pairs.keys() : [one.found.next ?? 0]) {
        if (!everywhere || isRead(place)) {
          one.calls += pairsTogether(one.episode, one.pairs, place, one.numbers);
        }
      }
    }
    const counts = read.map(({ episode, pairs }) =>
      countsOf(
        {
          range: RANGE,
          end: 0,
          messages: pairs.map((own, place) => ({ pairs: own, terminal: isTerminalAt(episode.team, place) })),
        },
        episode.said.map((_, place) => `message ${place}`),
      ),
    );
    const model = fitCurves(counts);
    for (const [index, one] of read.entries()) {
      await setImmediate();
      if (signal.aborted) {
        throw new CancelledError();
      }
      const count = counts[index];
      if (count !== undefined && open.includes(one)) {
        one.found = decideTogether(model, count);
      }
    }
  }
}

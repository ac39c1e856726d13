/**
 * `c3 bench blame`: the error rate and the cost of searches for the message that lost an episode,
 * and the coverage of their intervals, on teams whose exact chances are known.
 */

import { setImmediate } from 'node:timers/promises';
import { wilsonInterval } from '../../../credit/interval.ts';
import { fitCurves } from '../../../credit/pooledCurves.ts';
import { toCurveCounts, decideTogether, isReadEvenly, type CurveVerdict } from '../../../credit/valueCurve.ts';
import { CancelledError } from '../../../shared/errors.ts';
import { makeFigure, describeHardware, type BenchFigure, type BenchOptions, type BenchReport } from '../../report.ts';
import {
  isNotWorst,
  searchEnumerated,
  computeTruth,
  type Order,
  type Searched,
  type Truth,
  isFalseVerdict,
  drawPairs,
  RANGE,
  type Pairs,
} from './blameSearch.ts';
import { drawLostEpisode, isTerminalAt, Numbers, type LostEpisode } from './enumeratedTeams.ts';

const EPISODES = 2000;
const QUICK_EPISODES = 120;
/** Maximum evaluator calls of a search. */
const BUDGET = 1000;
/** Maximum evaluator calls of an episode that is searched together with the others of its run. */
const BUDGET_TOGETHER = 320;
/** Evaluator calls after which the message with the lowest mean is taken as a guess. */
const BUDGETS = [16, 32, 64, 96, 192, 384] as const;
/** Upper limit of wrong answers that a search promises, in percent. */
const PROMISED = 5;
/** Goal for the calls of a search, as a share of those of uniform allocation. */
const GOAL_RATIO = 0.5;
const NOTE_EVERY = 100;

interface Both {
  readonly truth: Truth;
  readonly search: Searched;
  readonly inTurn: Searched;
}

/** @param count number of episodes @throws CancelledError */
export async function benchBlame(
  { quick, signal, note }: BenchOptions,
  count = quick ? QUICK_EPISODES : EPISODES,
): Promise<BenchReport> {
  const all: Both[] = [];
  for (let index = 0; index < count; index++) {
    await setImmediate();
    if (signal.aborted) {
      throw new CancelledError();
    }
    const episode = drawLostEpisode(index);
    all.push({
      truth: computeTruth(episode),
      search: searchEnumerated(episode, 'search', BUDGET, index),
      inTurn: searchEnumerated(episode, 'in turn', BUDGET, index),
    });
    if ((index + 1) % NOTE_EVERY === 0) {
      note(`${index + 1} of ${count} episodes`);
    }
  }
  const together = await searchBlameRuns(count, 'search', signal, note);
  const inTurn = await searchBlameRuns(count, 'in turn', signal, note);
  return {
    suite: 'blame',
    figures: [...makeBlameFigures(all), ...makeTogetherFigures(together, inTurn)],
    hardware: describeHardware(),
  };
}

/** Searches the same episodes in runs, each with all episodes of teams of one length. */
async function searchBlameRuns(
  count: number,
  order: Order,
  signal: AbortSignal,
  note: (line: string) => void,
): Promise<SearchedTogether[]> {
  const episodes = Array.from({ length: count }, (_, index) => drawLostEpisode(index));
  const read: SearchedTogether[] = [];
  for (const run of Map.groupBy(episodes, ({ team }) => team.messages).values()) {
    read.push(...(await searchTogether(run, order, BUDGET_TOGETHER, signal)));
    note(`${read.length} of ${count} episodes read together, ${order}`);
  }
  return read;
}

function makeTogetherFigures(search: readonly SearchedTogether[], inTurn: readonly SearchedTogether[]): BenchFigure[] {
  const share = (all: readonly SearchedTogether[], is: (one: SearchedTogether) => boolean): number =>
    toPercentOf(all.filter(is).length, all.length);
  const calls = (all: readonly SearchedTogether[]): number => all.reduce((sum, one) => sum + one.calls, 0) / all.length;
  const wrong = search.filter((one) => one.isWrong).length;
  return [
    makeFigure(
      'wrong answers, read together',
      share(search, (one) => one.isWrong),
      '%',
      { ceiling: PROMISED, peer: share(inTurn, (one) => one.isWrong) },
    ),
    makeFigure('the same, upper bound', 100 * (wilsonInterval(wrong, search.length)?.high ?? 1), '%', {
      ceiling: PROMISED,
    }),
    makeFigure(
      'episodes decided together',
      share(search, (one) => one.decided),
      '%',
      { peer: share(inTurn, (one) => one.decided) },
    ),
    makeFigure('calls to an answer, read together', calls(search), 'calls', {
      peer: calls(inTurn),
      peerRatio: calls(inTurn) / calls(search),
    }),
  ];
}

const toPercentOf = (part: number, whole: number): number => (100 * part) / whole;

function makeBlameFigures(all: readonly Both[]): BenchFigure[] {
  const count = all.length;
  const wrong = all.filter(({ search }) => search.isWrong).length;
  const upper = 100 * (wilsonInterval(wrong, count)?.high ?? 1);
  const decided = all.filter(({ search }) => search.verdict !== 'undecided').length;
  const calls = (of: 'search' | 'inTurn'): number => all.reduce((sum, one) => sum + one[of].calls, 0) / count;
  const sum = (name: 'shown' | 'held'): number => all.reduce((total, { search }) => total + search[name], 0);
  const named = all.filter(({ truth }) => truth.drops.length > 1);
  return [
    makeFigure('wrong answers of a search', toPercentOf(wrong, count), '%', { ceiling: PROMISED }),
    makeFigure('the same, upper bound', upper, '%', { ceiling: PROMISED }),
    makeFigure('intervals that hold the truth', toPercentOf(sum('held'), sum('shown')), '%'),
    makeFigure('searches that decide', toPercentOf(decided, count), '%'),
    makeFigure('calls to an answer', calls('search'), 'calls', {
      peer: calls('inTurn'),
      peerRatio: calls('inTurn') / calls('search'),
      ceiling: GOAL_RATIO * calls('inTurn'),
    }),
    ...BUDGETS.map((budget) => {
      const share = (of: 'search' | 'inTurn'): number =>
        toPercentOf(
          named.filter(({ truth, ...one }) => isNotWorst(findGuess(one[of], budget), truth)).length,
          named.length,
        );
      return makeFigure(`wrong guesses after ${budget} calls`, share('search'), '%', { peer: share('inTurn') });
    }),
  ];
}

/** Returns the message with the lowest mean after a number of calls. */
const findGuess = ({ guesses }: Searched, budget: number): number =>
  guesses.findLast(({ calls }) => calls <= budget)?.place ?? 0;

// Searches of all episodes of a run together.

interface SearchedTogether {
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
 * Samples the episodes of a run until each is decided or has used its budget. The first round
 * samples every point. Later rounds sample the point that the search chooses next, or every point
 * again.
 * @throws CancelledError
 */
async function searchTogether(
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
        isWrong: isFalseVerdict(found.verdict, found.places, computeTruth(episode)),
        calls,
      }));
    }
    for (const one of open) {
      const everywhere = first || order === 'in turn';
      for (const place of everywhere ? one.pairs.keys() : [one.found.next ?? 0]) {
        if (!everywhere || isReadEvenly(place)) {
          one.calls += drawPairs(one.episode, one.pairs, place, one.numbers);
        }
      }
    }
    const counts = read.map(({ episode, pairs }) =>
      toCurveCounts(
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

/** Searches for the message that lost an episode of an enumerated team, compared with the truth. */

import { estimateCurve, decideAlone, estimateDrop, REACH, type EpisodeSamples } from '../../../credit/valueCurve.ts';
import type { BlameVerdict } from '../../../domain/answer.ts';
import { computeChance, drawPair, isTerminalAt, Numbers, type LostEpisode } from './enumeratedTeams.ts';

export const RANGE = { low: 0, high: 1 };
/** Pairs that are sampled at a time, as in the engine. */
const TOGETHER = 8;
/** Chances that differ by less are equal except for rounding. */
const ROUNDING = 1e-9;

/** The order of sampling: the message that the search chooses next, or each message in turn. */
export type Order = 'search' | 'in turn';

/** The exact values of an episode. */
export interface Truth {
  /** V_0 to V_(T-1). The point after them is the recorded return. */
  readonly points: readonly number[];
  readonly drops: readonly number[];
}

export function computeTruth({ team, said }: LostEpisode): Truth {
  const points = said.map((_, place) => computeChance(team, said.slice(0, place)));
  return { points, drops: points.map((before, place) => (points[place + 1] ?? 0) - before) };
}

export interface Searched {
  readonly verdict: BlameVerdict;
  readonly calls: number;
  /** True if the verdict is false. */
  readonly isWrong: boolean;
  /** The message with the lowest mean after each number of calls. */
  readonly guesses: readonly { readonly calls: number; readonly place: number }[];
  /** Number of intervals at the end. */
  readonly shown: number;
  /** Number of those intervals that contain the truth. */
  readonly held: number;
}

/**
 * Searches an episode until a verdict or up to the budget.
 * @param index selects the random numbers
 */
export function searchEnumerated(episode: LostEpisode, order: Order, budget: number, index: number): Searched {
  const numbers = new Numbers(order === 'search' ? 1 : 2, index);
  const pairs: Pairs = episode.said.map(() => []);
  const guesses: Searched['guesses'][number][] = [];
  let calls = 0;
  for (let turn = 0; ; turn++) {
    const samples: EpisodeSamples = {
      range: RANGE,
      end: 0,
      messages: pairs.map((own, place) => ({ pairs: own, terminal: isTerminalAt(episode.team, place) })),
    };
    const { verdict, places, next } = decideAlone(samples);
    guesses.push({ calls, place: findLowestMean(pairs) });
    if (next === null || calls >= budget) {
      const truth = computeTruth(episode);
      return {
        verdict,
        calls,
        isWrong: isFalseVerdict(verdict, places, truth),
        guesses,
        ...countCoverage(samples, truth),
      };
    }
    calls += drawPairs(episode, pairs, order === 'search' ? next : turn % pairs.length, numbers);
  }
}

/** The sampled pairs of returns of an episode, by message. */
export type Pairs = readonly (readonly [own: number, fresh: number])[][];

/** Draws TOGETHER pairs of a message. @returns the number of evaluator calls */
export function drawPairs(episode: LostEpisode, pairs: Pairs, place: number, numbers: Numbers): number {
  for (let pair = 0; pair < TOGETHER; pair++) {
    pairs[place]?.push(drawPair(episode, place, numbers));
  }
  return TOGETHER * (isTerminalAt(episode.team, place) ? 1 : 2);
}

function findLowestMean(pairs: Pairs): number {
  const means = pairs.map((own) => own.reduce((sum, [kept, fresh]) => sum + kept - fresh, 0) / Math.max(1, own.length));
  return means.indexOf(Math.min(...means));
}

/** Returns true if a message is not among those that lost the most. */
export const isNotWorst = (place: number, { drops }: Truth): boolean =>
  (drops[place] ?? 0) > Math.min(...drops) + ROUNDING;

/** Returns true if a verdict is false, as that of several messages if one of them lost nothing. */
export function isFalseVerdict(verdict: BlameVerdict, places: readonly number[], truth: Truth): boolean {
  switch (verdict) {
    case 'message':
      return places.some((place) => isNotWorst(place, truth));
    case 'several':
      return places.some((place) => (truth.drops[place] ?? 0) > -ROUNDING);
    case 'rare':
      return (truth.points[0] ?? 0) > REACH;
    default:
      return false;
  }
}

function countCoverage(samples: EpisodeSamples, { points, drops }: Truth): Pick<Searched, 'shown' | 'held'> {
  const shown = [
    ...points.map((truth, place) => ({ truth, chance: estimateCurve(samples)[place] })),
    ...drops.map((truth, place) => ({ truth, chance: estimateDrop(samples, place) })),
  ].filter(({ chance }) => chance !== undefined && chance.n > 0);
  const held = shown.filter(
    ({ truth, chance }) => chance !== undefined && chance.low - ROUNDING <= truth && truth <= chance.high + ROUNDING,
  );
  return { shown: shown.length, held: held.length };
}

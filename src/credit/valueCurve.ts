/**
 * The curve of the expected return through an episode, and the message that lost it.
 *
 * V_t is the expected return after message t when the team continues as recorded. V_0 is before the
 * first message and V_T is the recorded return. The drop of message t is V_t - V_(t-1), its credit
 * against a fresh message of its context (C3, eq. 13 to 15); the drops add up to V_T - V_0. Both sides
 * of a drop are continued on the same random numbers, in pairs. All intervals are betting confidence
 * sequences (betting.ts), so that a search may stop at any look.
 */

import type { BlameVerdict, Chance } from '../domain/answer.ts';
import type { ReturnRange } from '../shared/credit/creditPool.ts';
import { ALPHA, bettingInterval, mixedCapital, stakeCapitals, type Side } from './betting.ts';
import type { BucketEvidence } from './pairing.ts';
import { judgeCurve, type CurveCounts, type CurveModel } from './pooledCurves.ts';
import { estimateReplaysToSettle } from './replaysToSettle.ts';

/** The samples of one message of an episode. */
export interface MessageSamples {
  /** Returns of pairs: the message itself, and a fresh message of its context on the same numbers. */
  readonly pairs: readonly (readonly [own: number, fresh: number])[];
  /** True if its text determines the return: `own` is then the recorded return, and not a sample. */
  readonly terminal: boolean;
}

export interface EpisodeSamples {
  readonly range: ReturnRange;
  /** The recorded return. */
  readonly end: number;
  /** In the order in which they were said. */
  readonly messages: readonly MessageSamples[];
}

/** A problem whose chance at the start is below this share of the range is rarely solved. */
export const REACH = 0.2;
/** In a rarely solved episode no point is above this share, so that there was little to lose. */
const EVEN = 0.5;
/** Drops that differ by less than this share of the range count as equal. */
const EQUAL = 0.1;

const rangeWidth = ({ low, high }: ReturnRange): number => high - low;
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

const wrapUnits = (units: readonly number[]): BucketEvidence => ({
  assignments: [units],
  cells: units,
  units: units.length,
});

/** Returns the mean of returns with its interval, or the whole range without returns. */
function estimateChance(returns: readonly number[], range: ReturnRange, alpha: number): Chance {
  const middle = (range.low + range.high) / 2;
  if (returns.length === 0) {
    return { value: middle, low: range.low, high: range.high, n: 0 };
  }
  // Twice the distance from the middle lies within the span on either side, like a difference.
  const units = returns.map((one) => 2 * (one - middle));
  const { low, high } = bettingInterval([wrapUnits(units)], rangeWidth(range), alpha);
  const value = mean(returns);
  return { value, low: Math.min(value, middle + low / 2), high: Math.max(value, middle + high / 2), n: returns.length };
}

const pairUnits = ({ pairs }: MessageSamples): number[] => pairs.map(([own, fresh]) => own - fresh);

/**
 * Returns the differences that a message made: those of its own pairs, and those between other
 * continuations from before it and after it, in order. After the last message there is only the
 * recorded return.
 */
function listDropUnits({ messages, end }: Pick<EpisodeSamples, 'messages' | 'end'>, place: number): number[] {
  const own = messages[place];
  const before = listOwnReturns(messages[place - 1]);
  const next = messages[place + 1];
  if (own === undefined) {
    return [];
  }
  if (next === undefined) {
    return [...before, ...own.pairs.map(([, fresh]) => fresh)].map((value) => end - value);
  }
  const after = next.pairs.map(([, fresh]) => fresh);
  const others = before.slice(0, after.length).map((value, index) => (after[index] ?? NaN) - value);
  return [...pairUnits(own), ...others];
}

/** Returns the continuations of a message itself; none if its text determines the return. */
const listOwnReturns = (samples: MessageSamples | undefined): number[] =>
  samples === undefined || samples.terminal ? [] : samples.pairs.map(([own]) => own);

/** Returns the change by a message with its interval, or the whole span without samples. */
export function estimateDrop(samples: EpisodeSamples, place: number, alpha = ALPHA): Chance {
  const units = listDropUnits(samples, place);
  const span = rangeWidth(samples.range);
  if (units.length === 0) {
    return { value: 0, low: -span, high: span, n: 0 };
  }
  const { low, high } = bettingInterval([wrapUnits(units)], span, alpha);
  const value = mean(units);
  return { value, low: Math.min(value, low), high: Math.max(value, high), n: units.length };
}

/**
 * Returns the continuations from each point before the last message: those of the message before it,
 * and those of fresh messages after it.
 */
const listPointContinuations = ({ messages }: Pick<EpisodeSamples, 'messages'>): number[][] =>
  messages.map((next, index) => [...listOwnReturns(messages[index - 1]), ...next.pairs.map(([, fresh]) => fresh)]);

/** Returns V_0 to V_T, each point from all its continuations. */
export function estimateCurve({ range, end, messages }: EpisodeSamples, alpha = ALPHA): Chance[] {
  const points = listPointContinuations({ messages }).map((returns) => estimateChance(returns, range, alpha));
  return [...points, { value: end, low: end, high: end, n: 0 }];
}

/** Returns true if an even reading includes a message's pairs: they show the chances around it. */
export const isReadEvenly = (place: number): boolean => place % 2 === 0;

/**
 * Returns the loss of each message as a share of the range: V_(t-1) - V_t. The losses add up to V_0
 * minus the recorded return. Each point is the mean of `pairs` first pairs of every other message. A
 * search draws more pairs of some messages because of their returns; those later pairs would bias a
 * mean over episodes.
 * @param pairs number of pairs of each message that is read
 * @returns null if a message has fewer
 */
export function measureLosses({ range, end, messages }: EpisodeSamples, pairs: number): number[] | null {
  const even = messages.map((message, place) => ({
    ...message,
    pairs: isReadEvenly(place) ? message.pairs.slice(0, pairs) : [],
  }));
  if (even.some((message, place) => isReadEvenly(place) && message.pairs.length < pairs)) {
    return null;
  }
  const points = [...listPointContinuations({ messages: even }).map(mean), end];
  return messages.map((_, index) => ((points[index] ?? NaN) - (points[index + 1] ?? NaN)) / rangeWidth(range));
}

/** The decision of the samples. */
export interface CurveVerdict {
  readonly verdict: BlameVerdict;
  /** Indices of the messages that the verdict names. */
  readonly places: readonly number[];
  /** Index of the message to sample next, or null if the verdict will not change. */
  readonly next: number | null;
}

/** The verdict on an episode that lost nothing: it returned more than the team does on average. */
export const NOTHING_LOST: CurveVerdict = { verdict: 'won', places: [], next: null };

/**
 * Decides by the samples so far, and chooses the message to sample next.
 *
 * The search is for the message of the largest fall. It samples the message with the lowest mean and
 * the one that may still be lower, the one with fewer pairs first (LUCB: Kalyanakrishnan et al., "PAC
 * subset selection in stochastic multi-armed bandits", ICML 2012). A message is named once it is known
 * to have lost more than each of the others, pair against pair. If the team seems to solve the problem
 * rarely, the search instead samples the point whose chance may still be furthest above that limit.
 * Half of the error goes to these comparisons, divided by their number, and half to V_0, so that a
 * named message, or "rare", is wrong with probability `error` at most, for any length of the search.
 */
export function decideAlone(samples: EpisodeSamples, error = ALPHA): CurveVerdict {
  const { range, messages } = samples;
  const span = rangeWidth(range);
  const share = (value: number): number => (value - range.low) / span;
  // One side of an interval at twice the error.
  const points = estimateCurve(samples, error).slice(0, -1);
  // The largest possible excess of each chance over the limit for "rare".
  const above = points.map(({ high }, place) => share(high) - (place === 0 ? REACH : EVEN));
  const [start] = points;
  if (start !== undefined && start.n > 0 && start.high < samples.end) {
    return NOTHING_LOST;
  }
  const seemsRare = points.every(({ value, n }, place) => (n === 0 ? place > 0 : share(value) <= REACH));
  if (seemsRare && above.every((one) => one <= 0)) {
    return { verdict: 'rare', places: [], next: null };
  }
  const drops = messages.map((_, place) => estimateDrop(samples, place, error / 2 / messages.length));
  const order = [...drops.keys()];
  const dropAt = (place: number): Chance => drops[place] ?? { value: 0, low: -span, high: span, n: 0 };
  const first = findLeast(order, (place) => dropAt(place).value);
  const rest = order.filter((place) => place !== first);
  const open = rest.filter((place) => !isKnownToLoseMore(samples, first, place, error / 2 / rest.length));
  const fell = order.filter((place) => dropAt(place).high < 0);
  if (open.length === 0 && (rest.length > 0 || fell.length > 0)) {
    return { verdict: 'message', places: [first], next: null };
  }
  const lowest = dropAt(first);
  const second = findLeast(open, (place) => dropAt(place).low);
  const rival = dropAt(second);
  const areEqual = Math.max(lowest.high - rival.low, rival.high - lowest.low) <= EQUAL * span;
  if (order.every((place) => dropAt(place).low > -EQUAL * span) || (fell.length > 1 && areEqual)) {
    return { verdict: 'several', places: fell.length > 1 ? fell : order, next: null };
  }
  const pairsAt = (place: number): number => messages[place]?.pairs.length ?? 0;
  const fewer = open.length === 0 || pairsAt(first) <= pairsAt(second) ? first : second;
  const next = seemsRare ? above.indexOf(Math.max(...above)) : fewer;
  return fell.length > 1
    ? { verdict: 'several', places: fell, next }
    : { verdict: 'undecided', places: order.filter((place) => place === first || open.includes(place)), next };
}

/** Converts an episode's samples for the joint model. @param names of its messages; see CurveCounts */
export function toCurveCounts({ range, end, messages }: EpisodeSamples, names: readonly string[]): CurveCounts {
  const share = (value: number): number => (value - range.low) / rangeWidth(range);
  const points = listPointContinuations({ messages }).map((returns) => ({
    won: returns.reduce((sum, value) => sum + share(value), 0),
    of: returns.length,
  }));
  return { points, end: share(end), names };
}

/**
 * The factor by which the error of a verdict on episodes together is below the promised one. It makes
 * up for chances that do not move like a chain of the run's other episodes (`c3 bench blame`).
 */
const SPARE = 3;

/**
 * Decides by an episode's own samples and those of all lost episodes of its run (pooledCurves.ts). It
 * names one message or several, or calls the episode rare, if that is likely enough. It decides
 * nothing before each point has a replay.
 * @param promised the share of a run's episodes whose verdict may be wrong
 */
export function decideTogether(model: CurveModel, counts: CurveCounts, promised = ALPHA): CurveVerdict {
  const error = promised / SPARE;
  const { low, above, lostMost, lost } = judgeCurve(model, counts, { start: REACH, later: EVEN, least: EQUAL });
  const order = [...lostMost.keys()].toSorted((a, b) => (lostMost[b] ?? 0) - (lostMost[a] ?? 0));
  const [first = 0, second = 0] = order;
  const together = [...lost.keys()].filter((place) => (lost[place] ?? 0) >= 1 - error);
  const others = order.filter((place) => !together.includes(place));
  if (counts.points.every(({ of }) => of > 0)) {
    if (above >= 1 - error) {
      return NOTHING_LOST;
    }
    if (low >= 1 - error) {
      return { verdict: 'rare', places: [], next: null };
    }
    if ((lostMost[first] ?? 0) >= 1 - error) {
      return { verdict: 'message', places: [first], next: null };
    }
    if (together.length > 1 && others.reduce((sum, place) => sum + (lostMost[place] ?? 0), 0) <= error) {
      return { verdict: 'several', places: together, next: null };
    }
  }
  // The point after the last message is the recorded return, which needs no sample.
  const seenAt = (place: number): number =>
    Math.min(counts.points[place]?.of ?? 0, counts.points[place + 1]?.of ?? Infinity);
  const next = low > (lostMost[first] ?? 0) ? 0 : seenAt(first) <= seenAt(second) ? first : second;
  const places = order.filter((place) => place === first || (lostMost[place] ?? 0) > error).toSorted((a, b) => a - b);
  return { verdict: 'undecided', places, next };
}

/** Parts of the range in the search for a number between two drops. */
const PARTS = 50;

/**
 * Returns true if a message is known to have lost more than another. If it has not, some number lies
 * between the two drops. A bet that the one drop is below that number, times a bet that the other is
 * above it (betting.ts), then has an expectation of at most 1, for any order of sampling. The loss is
 * known if the product is large for every number. The first bet at the lower end of a part of the
 * range, and the second at its upper end, are the least within the part, and rule it out if their
 * product is large.
 */
function isKnownToLoseMore(
  { range, end, messages }: EpisodeSamples,
  place: number,
  other: number,
  error: number,
): boolean {
  const [one, two] = [messages[place], messages[other]];
  if (one === undefined || two === undefined) {
    return false;
  }
  const span = rangeWidth(range);
  const [below, above] = [wrapUnits(pairUnits(one)), wrapUnits(pairUnits(two))];
  // The largest change by a message: if its text determines the return, it kept the recorded one.
  const most = one.terminal ? end - range.low : span;
  const placeOf = (part: number): number => span * ((2 * part) / PARTS - 1);
  const isRuledOut = (part: number): boolean => {
    const [low, high] = [placeOf(part), placeOf(part + 1)];
    const capital = (bet: BucketEvidence, side: Side, least: number, bound: number): number =>
      mixedCapital(stakeCapitals([bet], side, least, bound), [], 0);
    return low >= most || capital(below, -1, -low, most) + capital(above, 1, high, span) >= Math.log(1 / error);
  };
  // The number that is hardest to rule out lies between the means.
  const middle = (mean(pairUnits(one)) + mean(pairUnits(two))) / 2;
  const first = Math.min(PARTS - 1, Math.max(0, Math.floor((PARTS * (middle / span + 1)) / 2)));
  const parts = Array.from({ length: PARTS }, (_, part) => part);
  return below.units > 0 && above.units > 0 && isRuledOut(first) && parts.every(isRuledOut);
}

/** Returns the first place with the least figure, or -1 if there are none. */
function findLeast(places: readonly number[], figure: (place: number) => number): number {
  return places.reduce((best, place) => (best === -1 || figure(place) < figure(best) ? place : best), -1);
}

/** Estimates the further evaluator calls that decide these messages, or returns null if unknown. */
export function estimateCallsToDecide({ range, messages }: EpisodeSamples, places: readonly number[]): number | null {
  let calls = 0;
  for (const place of places) {
    const message = messages[place];
    const units = message === undefined ? [] : pairUnits(message);
    if (message === undefined || units.length === 0) {
      return null;
    }
    const more = estimateReplaysToSettle([wrapUnits(units)], rangeWidth(range), message.terminal);
    if (more === null) {
      return null;
    }
    calls = Math.max(calls, more);
  }
  return calls;
}

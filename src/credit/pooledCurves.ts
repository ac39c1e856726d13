/**
 * A joint model of the curves of many lost episodes. A few replays of one episode decide little, but
 * all episodes of a run together show how chances move. This is empirical Bayes (Efron, "Large-Scale
 * Inference", 2010): the curve of an episode is a hidden Markov chain of chances on a grid, and its
 * returns are observed. Expectation and maximization from equal weights estimate the distribution at
 * the start and the moves of each message (Baum et al., Annals of Mathematical Statistics 41, 1970).
 * Pseudo-episodes of every kind are added, so that a few episodes do not count as all possible ones.
 * The likelihood of returns does not depend on the reason why sampling stopped.
 */

/** Number of times that a chance came true; a return inside the range counts as a fraction. */
export interface Count {
  readonly won: number;
  readonly of: number;
}

/** The observations of an episode, as shares of the range. */
export interface CurveCounts {
  /** Returns of the continuations before each message. */
  readonly points: readonly Count[];
  /** The recorded return. */
  readonly end: number;
  /** The name of each message. Messages with one name have the same distribution of moves. */
  readonly names: readonly string[];
}

/** The distribution of chances at the start, and the moves of each message. */
export interface CurveModel {
  /** The number of episodes that it was estimated from. */
  readonly episodes: number;
  readonly start: Weights;
  /** Probabilities of moves between chances on the grid, row by row, by name of the message. */
  readonly moves: ReadonlyMap<string, Weights>;
}

/** Probabilities for one episode, given all episodes of the run. */
export interface CurveJudgement {
  /** Probability that the chance at the start is at most `start`, and no later one is above `later`. */
  readonly low: number;
  /** Probability that the recorded return is above the chance at the start. */
  readonly above: number;
  /** For each message, the probability that it lost more than any other. A tie does not count. */
  readonly lostMost: readonly number[];
  /** For each message, the probability that it lost at least `least`. */
  readonly lost: readonly number[];
}

/** Bounds of the chances and losses in question, as shares of the range. See CurveJudgement. */
export interface CurveBounds {
  readonly start: number;
  readonly later: number;
  readonly least: number;
}

type Weights = Float64Array;

/** Steps of the grid from 0 to 1. */
const STEPS = 25;
const PLACES = STEPS + 1;
const GRID = Array.from({ length: PLACES }, (_, step) => step / STEPS);
/** Rounds of the estimate; more rounds would fit noise. */
const ROUNDS = 60;
/** Pseudo-episodes for the start and for moves from each chance, spread over all chances. */
const ADDED = 3;
/** Minimum number of episodes for a joint model. With fewer, the model only repeats the replays of each episode. */
export const ENOUGH_TOGETHER = 20;
/** Most messages of the episodes that the model is estimated from; more would change it little. */
const MOST_MESSAGES = 1000;
/** Tolerance, so that a bound that lies on the grid is not above itself. */
const ROUNDING = 1e-9;

/** The highest grid index whose cell lies below a bound. A cell is half a step to each side of its chance. */
const stepBelow = (bound: number): number => Math.floor(bound * STEPS - 0.5 + ROUNDING);

/** Returns the likelihood of each chance, scaled so that the largest is 1 for any number of returns. */
function scaleLikelihood({ won, of }: Count): Weights {
  const times = (count: number, chance: number): number => (count === 0 ? 0 : count * Math.log(chance));
  const logs = Float64Array.from(GRID, (chance) => times(won, chance) + times(of - won, 1 - chance));
  const largest = Math.max(...logs);
  return logs.map((log) => Math.exp(log - largest));
}

const uniformWeights = (length: number): Weights => new Float64Array(length).fill(1 / PLACES);

function sum(weights: Weights): number {
  let total = 0;
  for (let at = 0; at < weights.length; at++) {
    total += weights[at] ?? 0;
  }
  return total;
}

/** Multiplies elementwise. */
function multiplyWeights(one: Weights, other: Weights): Weights {
  const both = new Float64Array(one.length);
  for (let at = 0; at < both.length; at++) {
    both[at] = (one[at] ?? 0) * (other[at] ?? 0);
  }
  return both;
}

const normalizeWeights = (weights: Weights): Weights => {
  const total = sum(weights);
  return weights.map((one) => one / total);
};

/** Returns the move probabilities of a message, uniform for a name that the model lacks. */
const findMoves = ({ moves }: CurveModel, name: string | undefined): Weights => moves.get(name ?? '') ?? UNSEEN;
const UNSEEN = uniformWeights(PLACES * PLACES);

/** Estimates the moves of chances from the first of a run's lost episodes. */
export function fitCurves(curves: readonly CurveCounts[]): CurveModel {
  let left = MOST_MESSAGES;
  const seen = curves.filter(({ points }) => (left -= points.length) >= 0);
  const kinds = [...Map.groupBy(seen, (curve) => JSON.stringify([curve.points, curve.names])).values()].flatMap((of) =>
    of.slice(0, 1).map((curve) => ({ curve, times: of.length, likelihoods: curve.points.map(scaleLikelihood) })),
  );
  let model: CurveModel = { episodes: seen.length, start: uniformWeights(PLACES), moves: new Map() };
  for (let round = 0; round < ROUNDS; round++) {
    const start = uniformWeights(PLACES).map((share) => ADDED * share);
    const moves = new Map<string, Weights>();
    for (const { curve, times, likelihoods } of kinds) {
      addPosterior(model, curve, likelihoods, times, { start, moves });
    }
    model = {
      ...model,
      start: normalizeWeights(start),
      moves: new Map([...moves].map(([name, counted]) => [name, normalizeRows(counted)])),
    };
  }
  return model;
}

/** Adds the posterior probability of each start and each move of an episode. */
function addPosterior(
  model: CurveModel,
  { names }: CurveCounts,
  likelihoods: readonly Weights[],
  times: number,
  counted: { readonly start: Weights; readonly moves: Map<string, Weights> },
): void {
  const before = forward(model, names, likelihoods);
  const after = backward(model, names, likelihoods);
  addWeights(
    counted.start,
    multiplyWeights(before[0] ?? uniformWeights(PLACES), after[0] ?? uniformWeights(PLACES)),
    times,
  );
  for (let place = 1; place < likelihoods.length; place++) {
    const name = names[place - 1] ?? '';
    const into = counted.moves.get(name) ?? new Float64Array(PLACES * PLACES);
    counted.moves.set(name, into);
    addWeights(into, weighMoves(model, names, likelihoods, before, after, place), times);
  }
}

/** Adds weights, scaled to the sum `times`. */
function addWeights(into: Weights, weights: Weights, times: number): void {
  const factor = times / sum(weights);
  for (let at = 0; at < into.length; at++) {
    into[at] = (into[at] ?? 0) + factor * (weights[at] ?? 0);
  }
}

/** Returns the probability of each move of the message before a point, up to a factor. */
function weighMoves(
  model: CurveModel,
  names: readonly string[],
  likelihoods: readonly Weights[],
  before: readonly Weights[],
  after: readonly Weights[],
  place: number,
): Weights {
  const moves = findMoves(model, names[place - 1]);
  const from = before[place - 1] ?? uniformWeights(PLACES);
  const to = multiplyWeights(likelihoods[place] ?? uniformWeights(PLACES), after[place] ?? uniformWeights(PLACES));
  const likely = new Float64Array(PLACES * PLACES);
  for (let u = 0; u < PLACES; u++) {
    const share = from[u] ?? 0;
    for (let v = 0; v < PLACES; v++) {
      likely[u * PLACES + v] = share * (moves[u * PLACES + v] ?? 0) * (to[v] ?? 0);
    }
  }
  return likely;
}

function normalizeRows(counted: Weights): Weights {
  const rows = new Float64Array(PLACES * PLACES);
  for (let u = 0; u < PLACES; u++) {
    const row = counted.subarray(u * PLACES, (u + 1) * PLACES).map((count) => count + ADDED / PLACES);
    rows.set(normalizeWeights(row), u * PLACES);
  }
  return rows;
}

/** Returns the joint likelihood of the observations up to each point and its chance, up to a factor. */
function forward(model: CurveModel, names: readonly string[], likelihoods: readonly Weights[]): Weights[] {
  const points: Weights[] = [];
  for (const [place, likelihood] of likelihoods.entries()) {
    const before = points[place - 1];
    const reached =
      before === undefined ? model.start : moveForward(before, findMoves(model, names[place - 1]), EVERYWHERE);
    points.push(normalizeWeights(multiplyWeights(reached, likelihood)));
  }
  return points;
}

/** Returns the likelihood of the observations after each point given its chance, up to a factor. */
function backward(model: CurveModel, names: readonly string[], likelihoods: readonly Weights[]): Weights[] {
  const points: Weights[] = [];
  let after = uniformWeights(PLACES);
  for (let place = likelihoods.length - 1; place >= 0; place--) {
    points.unshift(after);
    const seen = multiplyWeights(after, likelihoods[place] ?? uniformWeights(PLACES));
    after = normalizeWeights(moveBackward(seen, findMoves(model, names[place - 1]), EVERYWHERE));
  }
  return points;
}

/** The allowed ends of a move from a chance: from the first index to before the second. */
type Allowed = (from: number) => readonly [number, number];
const EVERYWHERE: Allowed = () => [0, PLACES];

/** Returns the weight that reaches each chance by allowed moves. */
function moveForward(before: Weights, moves: Weights, allowed: Allowed): Weights {
  const after = new Float64Array(PLACES);
  for (let u = 0; u < PLACES; u++) {
    const share = before[u] ?? 0;
    const [first, end] = allowed(u);
    for (let v = Math.max(0, first); share > 0 && v < Math.min(PLACES, end); v++) {
      after[v] = (after[v] ?? 0) + share * (moves[u * PLACES + v] ?? 0);
    }
  }
  return after;
}

/** Returns the weight that follows each chance by allowed moves. */
function moveBackward(after: Weights, moves: Weights, allowed: Allowed): Weights {
  const before = new Float64Array(PLACES);
  for (let u = 0; u < PLACES; u++) {
    const [first, end] = allowed(u);
    let total = 0;
    for (let v = Math.max(0, first); v < Math.min(PLACES, end); v++) {
      total += (moves[u * PLACES + v] ?? 0) * (after[v] ?? 0);
    }
    before[u] = total;
  }
  return before;
}

/** Judges an episode by its own returns and by the moves of chances in its run. */
export function judgeCurve(model: CurveModel, curve: CurveCounts, bounds: CurveBounds): CurveJudgement {
  const likelihoods = normalizeLikelihoods(model, curve);
  const before = forward(model, curve.names, likelihoods);
  const after = backward(model, curve.names, likelihoods);
  const [start, later] = [stepBelow(bounds.start), stepBelow(bounds.later)];
  const low = reach(
    model,
    curve,
    likelihoods,
    (chance) => chance <= start,
    () => [0, later + 1],
  );
  return {
    low: sum(low.at(-1) ?? new Float64Array(1)),
    above: weighStartsBelow(curve, before, after),
    lostMost: weighLargestLosses(model, curve, likelihoods),
    lost: weighLossesAbove(model, curve, likelihoods, before, after, bounds.least),
  };
}

/** Returns the likelihoods of an episode's points; the probabilities of its curves add up to 1. */
function normalizeLikelihoods(model: CurveModel, { points, names }: CurveCounts): Weights[] {
  let reached = model.start;
  return points.map((point, place) => {
    const here = place === 0 ? reached : moveForward(reached, findMoves(model, names[place - 1]), EVERYWHERE);
    const likelihood = scaleLikelihood(point);
    const total = sum(multiplyWeights(here, likelihood));
    const own = likelihood.map((one) => one / total);
    reached = multiplyWeights(here, own);
    return own;
  });
}

/**
 * Returns the joint probability of each chance at each point and all observations up to it, restricted
 * to these starts and moves.
 */
function reach(
  model: CurveModel,
  { names }: CurveCounts,
  likelihoods: readonly Weights[],
  isStart: (chance: number) => boolean,
  allowed: Allowed,
): Weights[] {
  const points: Weights[] = [];
  for (const [place, likelihood] of likelihoods.entries()) {
    const before = points[place - 1];
    const here =
      before === undefined
        ? model.start.map((one, chance) => (isStart(chance) ? one : 0))
        : moveForward(before, findMoves(model, names[place - 1]), allowed);
    points.push(multiplyWeights(here, likelihood));
  }
  return points;
}

/** Returns the probability that each message lost more than any other, over each largest loss. */
function weighLargestLosses(model: CurveModel, curve: CurveCounts, likelihoods: readonly Weights[]): number[] {
  const end = Math.round(curve.end * STEPS);
  const most = likelihoods.map(() => 0);
  for (let loss = -STEPS; loss <= STEPS; loss++) {
    // The others lose at least one step less.
    const others: Allowed = (from) => [from - loss + 1, PLACES];
    const exactly: Allowed = (from) => [from - loss, from - loss + 1];
    const before = reach(model, curve, likelihoods, () => true, others);
    // The likelihood of the later messages, by the chance before them. The recorded return follows
    // the last one.
    let after: Weights | null = null;
    for (let place = likelihoods.length - 1; place >= 0; place--) {
      const here = before[place] ?? uniformWeights(PLACES);
      if (after === null) {
        most[place] = (most[place] ?? 0) + (here[end + loss] ?? 0);
        after = Float64Array.from(GRID, (_, from) => (from - end < loss ? 1 : 0));
      } else {
        const moves = findMoves(model, curve.names[place]);
        const seen: Weights = multiplyWeights(after, likelihoods[place + 1] ?? uniformWeights(PLACES));
        most[place] = (most[place] ?? 0) + sum(multiplyWeights(moveBackward(seen, moves, exactly), here));
        after = moveBackward(seen, moves, others);
      }
    }
  }
  return most;
}

/** Returns the probability that the chance at the start is below the recorded return. */
function weighStartsBelow({ end }: CurveCounts, [before]: readonly Weights[], [after]: readonly Weights[]): number {
  const start = normalizeWeights(multiplyWeights(before ?? uniformWeights(PLACES), after ?? uniformWeights(PLACES)));
  return start.reduce((total, one, step) => total + (step < Math.round(end * STEPS) ? one : 0), 0);
}

/** Returns the probability that each message lost at least `least`. */
function weighLossesAbove(
  model: CurveModel,
  { names, end }: CurveCounts,
  likelihoods: readonly Weights[],
  before: readonly Weights[],
  after: readonly Weights[],
  least: number,
): number[] {
  const steps = Math.ceil(least * STEPS - ROUNDING);
  return likelihoods.map((_, place) => {
    const here = before[place] ?? uniformWeights(PLACES);
    if (place === likelihoods.length - 1) {
      return here.reduce((total, one, from) => total + (from - Math.round(end * STEPS) >= steps ? one : 0), 0);
    }
    const moves = normalizeWeights(weighMoves(model, names, likelihoods, before, after, place + 1));
    return moves.reduce((total, one, at) => total + (Math.floor(at / PLACES) - (at % PLACES) >= steps ? one : 0), 0);
  });
}

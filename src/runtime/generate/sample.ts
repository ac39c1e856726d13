/** Choosing one token from log-probabilities. */

/** Tokens, in token order. */
type Ids = ArrayLike<number> & Iterable<number>;

export interface TokenSampling {
  /** 0 is greedy. The log-probabilities are already those of this temperature. */
  readonly temperature: number;
  /** 1 keeps every token. */
  readonly topP: number;
  /** 0 keeps every token. */
  readonly topK: number;
}

/**
 * The token that a uniform number selects: inverse of the cumulative distribution, in token order, in float64.
 * Truncation keeps the topK most likely tokens, then the shortest prefix of them whose mass reaches topP (ties go to
 * the lower id).
 * @param row log-probabilities of the whole vocabulary
 * @param uniform in [0, 1)
 */
export function sampleToken(row: Float32Array, sampling: TokenSampling, uniform: number): number {
  if (sampling.temperature === 0) {
    return argmax(row);
  }
  const kept = truncated(row, sampling);
  return kept === undefined ? fromAll(row, uniform) : fromSome(row, kept, uniform);
}

/**
 * The log-probabilities are those of a whole distribution, so the sum is 1 and the search can stop where it is
 * exceeded.
 */
function fromAll(row: Float32Array, uniform: number): number {
  let cumulative = 0;
  let last = 0;
  for (let token = 0; token < row.length; token++) {
    const probability = Math.exp(row[token] ?? -Infinity);
    if (probability === 0) {
      continue;
    }
    cumulative += probability;
    last = token;
    if (cumulative > uniform) {
      break;
    }
  }
  return last;
}

function fromSome(row: Float32Array, kept: Ids, uniform: number): number {
  let total = 0;
  for (const token of kept) {
    total += Math.exp(row[token] ?? -Infinity);
  }
  let cumulative = 0;
  let last = kept[0] ?? 0;
  for (const token of kept) {
    const probability = Math.exp(row[token] ?? -Infinity);
    if (probability === 0) {
      continue;
    }
    cumulative += probability;
    last = token;
    if (cumulative > uniform * total) {
      break;
    }
  }
  return last;
}

function argmax(row: Float32Array): number {
  let best = 0;
  for (let token = 1; token < row.length; token++) {
    if ((row[token] ?? -Infinity) > (row[best] ?? -Infinity)) {
      best = token;
    }
  }
  return best;
}

/** Ids that survive top-k and top-p, in token order; undefined where nothing is cut. */
function truncated(row: Float32Array, { topP, topK }: TokenSampling): Ids | undefined {
  const isCut = topK > 0 && topK < row.length;
  if (topP >= 1) {
    return isCut ? mostLikely(row, topK).sort() : undefined;
  }
  if (!isCut) {
    return nucleus(row, topP);
  }
  const likely = [...mostLikely(row, topK)].sort((a, b) => (row[b] ?? 0) - (row[a] ?? 0) || a - b);
  const count = nucleusSize(
    likely.map((token) => row[token] ?? -Infinity),
    topP,
  );
  return likely.slice(0, count).sort((a, b) => a - b);
}

/** How many of some log-probabilities, the most likely first, have the share `topP` of their mass together. */
function nucleusSize(likely: ArrayLike<number>, topP: number): number {
  let mass = 0;
  for (let place = 0; place < likely.length; place++) {
    mass += Math.exp(likely[place] ?? -Infinity);
  }
  let cumulative = 0;
  for (let place = 0; place < likely.length; place++) {
    cumulative += Math.exp(likely[place] ?? -Infinity);
    if (cumulative >= topP * mass) {
      return place + 1;
    }
  }
  return likely.length;
}

/**
 * The ids of the shortest prefix of all tokens, the most likely first, that has the share `topP` of the mass, in token
 * order. Values are sorted and not ids, which a typed array does twenty times faster; of those that equal the least
 * likely one, the lowest ids are in the prefix.
 */
function nucleus(row: Float32Array, topP: number): number[] {
  const sorted = row.slice().sort().reverse();
  const count = nucleusSize(sorted, topP);
  const least = sorted[count - 1] ?? -Infinity;
  let equal = count - sorted.indexOf(least);
  const kept: number[] = [];
  for (let token = 0; token < row.length; token++) {
    const value = row[token] ?? -Infinity;
    if (value > least || (value === least && equal-- > 0)) {
      kept.push(token);
    }
  }
  return kept;
}

/** The ids of the `count` most likely tokens, in no order; of equally likely ones, those with the lowest ids. */
function mostLikely(row: Float32Array, count: number): Int32Array {
  // A heap with the least likely of the kept ones at its root.
  const kept = Int32Array.from({ length: count }, (_, token) => token);
  const at = (place: number): number => row[kept[place] ?? 0] ?? -Infinity;
  const isLess = (a: number, b: number): boolean => (at(a) === at(b) ? (kept[a] ?? 0) > (kept[b] ?? 0) : at(a) < at(b));
  const sink = (from: number): void => {
    for (let place = from; ;) {
      const [left, right] = [2 * place + 1, 2 * place + 2];
      const child = right < count && isLess(right, left) ? right : left;
      if (child >= count || !isLess(child, place)) {
        return;
      }
      [kept[place], kept[child]] = [kept[child] ?? 0, kept[place] ?? 0];
      place = child;
    }
  };
  for (let place = (count >> 1) - 1; place >= 0; place--) {
    sink(place);
  }
  for (let token = count; token < row.length; token++) {
    // An equally likely one has a higher id than all that are kept.
    if ((row[token] ?? -Infinity) > at(0)) {
      kept[0] = token;
      sink(0);
    }
  }
  return kept;
}

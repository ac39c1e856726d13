/** Chooses one token from log-probabilities. */

/** Tokens, in token order. */
type Ids = ArrayLike<number> & Iterable<number>;

export interface TokenSampling {
  /** 0 is greedy. The log-probabilities are already scaled by this temperature. */
  readonly temperature: number;
  /** 1 keeps every token. */
  readonly topP: number;
  /** 0 keeps every token. */
  readonly topK: number;
}

/**
 * Returns the token that a uniform number selects: the inverse of the cumulative distribution, in
 * token order, in float64. Truncation keeps the topK most likely tokens, then the shortest prefix
 * of them whose mass reaches topP (ties go to the lower id).
 * @param row log-probabilities of the whole vocabulary
 * @param uniform in [0, 1)
 */
export function sampleToken(row: Float32Array, sampling: TokenSampling, uniform: number): number {
  if (sampling.temperature === 0) {
    return argmax(row);
  }
  const kept = truncateTokens(row, sampling);
  return kept === undefined ? sampleFromAll(row, uniform) : sampleFromKept(row, kept, uniform);
}

/**
 * Samples from all tokens. The probabilities add up to 1, so the search stops as soon as the
 * cumulative sum exceeds `uniform`.
 */
function sampleFromAll(row: Float32Array, uniform: number): number {
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

function sampleFromKept(row: Float32Array, kept: Ids, uniform: number): number {
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

/** Returns the ids that top-k and top-p keep, in token order, or undefined if they keep all. */
function truncateTokens(row: Float32Array, { topP, topK }: TokenSampling): Ids | undefined {
  const isCut = topK > 0 && topK < row.length;
  if (topP >= 1) {
    return isCut ? selectMostLikely(row, topK).sort() : undefined;
  }
  if (!isCut) {
    return selectNucleus(row, topP);
  }
  const likely = [...selectMostLikely(row, topK)].sort((a, b) => (row[b] ?? 0) - (row[a] ?? 0) || a - b);
  const count = countNucleus(
    likely.map((token) => row[token] ?? -Infinity),
    topP,
  );
  return likely.slice(0, count).sort((a, b) => a - b);
}

/**
 * Returns the length of the shortest prefix with the share `topP` of the mass.
 * @param likely log-probabilities, the most likely first
 */
function countNucleus(likely: ArrayLike<number>, topP: number): number {
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
 * Returns the ids of the shortest prefix of all tokens, the most likely first, that has the share
 * `topP` of the mass, in token order. It sorts values instead of ids, because a typed array sorts
 * twenty times faster. Of the ids that tie with the least likely value, the lowest are kept.
 */
function selectNucleus(row: Float32Array, topP: number): number[] {
  const sorted = row.slice().sort().reverse();
  const count = countNucleus(sorted, topP);
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

/** Returns the ids of the `count` most likely tokens, unordered; ties go to the lower id. */
function selectMostLikely(row: Float32Array, count: number): Int32Array {
  // A heap with the least likely kept token at its root.
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
    // A token of equal probability has a higher id than all kept ones.
    if ((row[token] ?? -Infinity) > at(0)) {
      kept[0] = token;
      sink(0);
    }
  }
  return kept;
}

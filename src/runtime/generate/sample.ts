/** Choosing one token from log-probabilities. */

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

function fromSome(row: Float32Array, kept: readonly number[], uniform: number): number {
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
function truncated(row: Float32Array, { topP, topK }: TokenSampling): number[] | undefined {
  if (topP >= 1 && (topK === 0 || topK >= row.length)) {
    return undefined;
  }
  const order = Array.from(row, (_, token) => token).sort((a, b) => (row[b] ?? 0) - (row[a] ?? 0) || a - b);
  const candidates = topK === 0 ? order : order.slice(0, topK);
  if (topP >= 1) {
    return candidates.sort((a, b) => a - b);
  }
  let mass = 0;
  for (const token of candidates) {
    mass += Math.exp(row[token] ?? -Infinity);
  }
  let cumulative = 0;
  const cut = candidates.findIndex((token) => {
    cumulative += Math.exp(row[token] ?? -Infinity);
    return cumulative >= topP * mass;
  });
  return candidates.slice(0, cut + 1).sort((a, b) => a - b);
}

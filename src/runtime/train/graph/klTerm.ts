/** The divergence that a loss penalizes. */

/** Largest vocabulary of an exact divergence, which needs all probabilities at every token. */
export const EXACT_VOCABULARY = 8192;

/** The divergence of the policy that the loss penalizes, per token. */
export interface KlTerm {
  /** The other policy: the one that the run began with, or the one that sampled the messages. */
  readonly against: 'reference' | 'last';
  /** k3: estimated from the sampled token; exact: over the whole vocabulary. */
  readonly estimator: 'k3' | 'exact';
  /**
   * True for KL(last || policy), which the sampled tokens estimate without bias (only against the last
   * policy). Otherwise KL(policy || other).
   */
  readonly fromLast?: boolean;
}

/** A penalty of an update. k1 against the reference is subtracted from the advantages; all others are in the loss. */
export type KlPenalty = { readonly coefficient: number } & (
  | KlTerm
  | { readonly against: 'reference'; readonly estimator: 'k1' }
);

/** Returns the reason not to compute an exact divergence, in one sentence, or null if there is none. */
export function explainNoExactKl(vocabularySize: number): string | null {
  return vocabularySize <= EXACT_VOCABULARY
    ? null
    : `An exact divergence compares ${vocabularySize} probabilities at each token, more than ${EXACT_VOCABULARY}; choose k3.`;
}

/**
 * Returns the sum of p (log p - log q) of each row, in float64.
 * @param own log p, rows of `width`
 * @param other log q, in the same layout
 */
export function rowDivergences(own: Float32Array, other: Float32Array, width: number): Float32Array {
  return Float32Array.from({ length: own.length / width }, (_, row) => {
    let divergence = 0;
    for (let index = row * width; index < (row + 1) * width; index++) {
      const logarithm = own[index] ?? 0;
      divergence += Math.exp(logarithm) * (logarithm - (other[index] ?? 0));
    }
    return divergence;
  });
}

/** Which divergence a loss penalizes, and where it can be computed exactly. */

/** Largest vocabulary of an exact divergence: every token then takes as many probabilities, of two policies. */
export const EXACT_VOCABULARY = 8192;

/** Which divergence of the policy the loss penalizes, per token. */
export interface KlTerm {
  /** From which policy: the one that the run began with, or the one that sampled the messages. */
  readonly against: 'reference' | 'last';
  /** k3: estimated from the token that was sampled; exact: over the whole vocabulary. */
  readonly estimator: 'k3' | 'exact';
  /**
   * True: KL(last || policy), against the last policy, which the sampled tokens estimate without bias. Else
   * KL(policy || the other).
   */
  readonly fromLast?: boolean;
}

/** A penalty of an update. k1 against the reference is subtracted from the advantages; all others are in the loss. */
export type KlPenalty = { readonly coefficient: number } & (
  | KlTerm
  | { readonly against: 'reference'; readonly estimator: 'k1' }
);

/** Why no exact divergence of a model is computed, in one sentence; null where it is. */
export function exactFault(vocabularySize: number): string | null {
  return vocabularySize <= EXACT_VOCABULARY
    ? null
    : `An exact divergence compares ${vocabularySize} probabilities at each token, more than ${EXACT_VOCABULARY}; choose k3.`;
}

/**
 * The sum of p (log p - log q) of each row, in float64.
 * @param own log p, rows of `width`
 * @param other log q, as many
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

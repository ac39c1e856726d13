/** How far a policy has moved from the one that sampled, per message. */
import { mean } from '../credit/describe.ts';

/** Log-probabilities of a message's tokens under the policy that sampled it, and under the one of now. */
export interface MovedMessage {
  readonly before: Float32Array;
  readonly after: Float32Array;
  /** What the message is worth. */
  readonly advantage: number;
  /** KL(sampled || now) over the whole vocabulary at every token, where it was computed. */
  readonly exact?: Float32Array;
}

export interface Divergence {
  readonly messages: number;
  /**
   * Estimates of KL(sampled || now) of whole messages, in nats; 0 without a message. k1 is signed and unbiased, k3 is
   * at least 0.
   */
  readonly k1: number;
  readonly k3: number;
  /** The same over the whole vocabulary at every token, where it was asked for. */
  readonly exact?: number;
  /** The mean of (w - 1) A, w being the ratio of the whole message, its logarithm cut to +-10; 0 without a message. */
  readonly gain: number;
}

/** Bound on the logarithm of a message's ratio, as in the loss. */
const LOG_RATIO_BOUND = 10;

/**
 * The mean over messages of the sum over their tokens (TeamTR reference section 4; not the token mean, which bounds a
 * message's divergence only times its length) of
 *
 *   k1 = -d
 *   k3 = exp(d) - 1 - d,    d = log now - log sampled
 *
 * and what the surrogate gained by the move (section 3, without its clip).
 */
export function messageDivergence(messages: readonly MovedMessage[]): Divergence {
  const meanOf = (sumOf: (message: MovedMessage) => number): number =>
    messages.length === 0 ? 0 : mean(messages.map(sumOf));
  const sumOver = (term: (d: number) => number): number =>
    meanOf(({ before, after }) => after.reduce((sum, now, index) => sum + term(now - (before[index] ?? 0)), 0));
  return {
    messages: messages.length,
    k1: sumOver((d) => 0 - d),
    k3: sumOver((d) => Math.exp(d) - 1 - d),
    gain: meanOf(({ before, after, advantage }) => {
      const ratio = after.reduce((sum, now, index) => sum + now - (before[index] ?? 0), 0);
      return advantage * Math.expm1(Math.min(LOG_RATIO_BOUND, Math.max(-LOG_RATIO_BOUND, ratio)));
    }),
    ...(messages.some(({ exact }) => exact !== undefined) && {
      exact: meanOf(({ exact = new Float32Array() }) => exact.reduce((sum, one) => sum + one, 0)),
    }),
  };
}

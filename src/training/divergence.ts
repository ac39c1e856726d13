/** How far a policy has moved from the one that sampled, per message. */
import { mean } from '../credit/describe.ts';

/** Log-probabilities of a message's tokens under the policy that sampled it, and under the one of now. */
export interface MovedMessage {
  readonly before: Float32Array;
  readonly after: Float32Array;
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
}

/**
 * The mean over messages of the sum over their tokens (TeamTR reference section 4; not the token mean, which bounds a
 * message's divergence only times its length) of
 *
 *   k1 = -d
 *   k3 = exp(d) - 1 - d,    d = log now - log sampled
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
    ...(messages.some(({ exact }) => exact !== undefined) && {
      exact: meanOf(({ exact = new Float32Array() }) => exact.reduce((sum, one) => sum + one, 0)),
    }),
  };
}

/** Measures how far a policy has moved from the one that sampled, per message. */

import { mean } from '../credit/describe.ts';
import type { RankShift } from '../domain/step.ts';

/** The episode and problem of a message, and its share of the return. */
export interface Origin {
  /** Id of the first message of its episode. */
  readonly episode: number;
  readonly problem: string;
  /** The number of messages before it in the episode. */
  readonly place: number;
  /** The return minus the mean return of the problem's other episodes. */
  readonly worth: number;
}

/** The change of a message's probability. */
export interface Move extends Origin {
  /** log now - log sampled, summed over its tokens. */
  readonly logRatio: number;
  /** The same for each token. */
  readonly tokens: readonly number[];
}

/** Log-probabilities of a message's tokens, under the policy that sampled it and under the current one. */
export interface MovedMessage {
  readonly before: Float32Array;
  readonly after: Float32Array;
  readonly advantage: number;
  /** KL(sampled || now) over the whole vocabulary at every token, if it was computed. */
  readonly exact?: Float32Array;
  readonly origin?: Origin;
}

export interface Divergence {
  readonly messages: number;
  /**
   * Estimates of KL(sampled || now) of whole messages, in nats; 0 without messages. k1 is signed and
   * unbiased; k3 is at least 0.
   */
  readonly k1: number;
  readonly k3: number;
  /** The same over the whole vocabulary at every token, if requested. */
  readonly exact?: number;
  /**
   * The mean of (w - 1) A, with w the ratio of the whole message, its logarithm clipped to ±10; 0
   * without messages.
   */
  readonly gain: number;
  /** Probabilities of tokens by rank, under the sampling policy and the current one, if requested. */
  readonly ranks?: RankShift;
  /** The moves of messages whose origin is known; absent if there are none. */
  readonly moves?: readonly Move[];
}

/** Bound on the logarithm of a message's ratio, as in the loss. */
const LOG_RATIO_BOUND = 10;

/**
 * Returns the mean over messages of the sum over their tokens of
 *
 *   k1 = -d
 *   k3 = exp(d) - 1 - d,    d = log now - log sampled
 *
 * (TeamTR reference section 4; the token mean would bound a message's divergence only times its
 * length), and the gain of the surrogate from the move (section 3, without its clip).
 */
export function measureDivergence(messages: readonly MovedMessage[]): Divergence {
  const meanOf = (sumOf: (message: MovedMessage) => number): number =>
    messages.length === 0 ? 0 : mean(messages.map(sumOf));
  const logRatioOf = ({ before, after }: MovedMessage): number =>
    after.reduce((sum, now, index) => sum + now - (before[index] ?? 0), 0);
  const tokensOf = ({ before, after }: MovedMessage): number[] =>
    Array.from(after, (now, index) => now - (before[index] ?? 0));
  const moves = messages.flatMap((message) =>
    message.origin === undefined
      ? []
      : [{ ...message.origin, logRatio: logRatioOf(message), tokens: tokensOf(message) }],
  );
  const sumOver = (term: (d: number) => number): number =>
    meanOf(({ before, after }) => after.reduce((sum, now, index) => sum + term(now - (before[index] ?? 0)), 0));
  return {
    messages: messages.length,
    k1: sumOver((d) => 0 - d),
    k3: sumOver((d) => Math.exp(d) - 1 - d),
    gain: meanOf(
      (message) =>
        message.advantage * Math.expm1(Math.min(LOG_RATIO_BOUND, Math.max(-LOG_RATIO_BOUND, logRatioOf(message)))),
    ),
    ...(moves.length > 0 && { moves }),
    ...(messages.some(({ exact }) => exact !== undefined) && {
      exact: meanOf(({ exact = new Float32Array() }) => exact.reduce((sum, one) => sum + one, 0)),
    }),
  };
}

/** How far a policy has moved from the one that sampled, per message. */
import { mean } from '../credit/describe.ts';
import type { RankShift } from '../domain/step.ts';

/** Whose return a message shares. */
export interface Origin {
  /** Id of the first message of its episode. */
  readonly episode: number;
  readonly problem: string;
  /** How many messages of the episode come before it. */
  readonly place: number;
  /** The return less the mean return of the problem's other episodes. */
  readonly worth: number;
}

/** How a message's probability has changed. */
export interface Move extends Origin {
  /** log now - log sampled, summed over its tokens. */
  readonly logRatio: number;
  /** The same of each of its tokens. */
  readonly tokens: readonly number[];
}

/** Log-probabilities of a message's tokens under the policy that sampled it, and under the one of now. */
export interface MovedMessage {
  readonly before: Float32Array;
  readonly after: Float32Array;
  /** What the message is worth. */
  readonly advantage: number;
  /** KL(sampled || now) over the whole vocabulary at every token, where it was computed. */
  readonly exact?: Float32Array;
  /** Where it comes from, where that is known. */
  readonly origin?: Origin;
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
  /** Probabilities of tokens by rank under the policy that sampled, and now, where they were asked for. */
  readonly ranks?: RankShift;
  /** Of the messages whose origin is known; left out where none is. */
  readonly moves?: readonly Move[];
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

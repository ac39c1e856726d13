/** What a pilot with an untrained team measured: how much of the variance of the return each message decides. */
import type { Interval } from './records.ts';

export interface MessageRho {
  readonly role: string;
  /** What it adds to the variance of the return, given those before it; null where it was not measured. */
  readonly variance: number | null;
  /** That over the variance due to all messages after it; null for the last, and where nothing varies after it. */
  readonly rho: Interval | null;
  /**
   * The predicted variance of C3's gradient over MAGRPO's at the same evaluator calls; null where the fan-out gives the
   * message no sibling.
   */
  readonly varianceRatio: number | null;
}

export interface RhoReport {
  readonly questions: number;
  readonly alternatives: number;
  readonly replays: number;
  readonly evaluatorCalls: number;
  /** Of C3, and the whole episodes of MAGRPO, that the prediction compares. */
  readonly fanout: readonly number[];
  readonly episodes: number;
  /** In the order of the protocol. */
  readonly messages: readonly MessageRho[];
}

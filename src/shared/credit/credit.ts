/** A credit as it is stored and sent. */

/** One estimator's credit for one alternative. Credits are appended, never rewritten. */
export interface Credit {
  readonly estimator: string;
  readonly value: number;
  readonly low: number | null;
  readonly high: number | null;
  /**
   * The number of distinct results behind the credit. The result of an equal message on an equal stream
   * is the same one, and counts once. For messages that end the episode, each draw counts.
   * @term n
   */
  readonly n: number;
  readonly evaluatorCalls: number;
  /** The method of the bounds: newcombe, welch, betting, ... or none. */
  readonly interval: string;
}

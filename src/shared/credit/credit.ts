/** A credit as it is stored and sent. */

/** An estimator's word on one alternative, appended, never rewritten. n counts the returns behind it. */
export interface Credit {
  readonly estimator: string;
  readonly value: number;
  readonly low: number | null;
  readonly high: number | null;
  readonly n: number;
  readonly evaluatorCalls: number;
  /** How the bounds were found: newcombe, welch, betting, ... or none. */
  readonly interval: string;
}

/** Environment events as a page shows them. */

/** What an environment added to an episode: feedback, the result of a tool, a vote. */
export interface ShownEvent {
  readonly source: string;
  readonly text: string;
  /** The round that it belongs to, from 1; null where the protocol has none. */
  readonly round: number | null;
  /** True for the one that closes the episode and is scored. */
  readonly closing: boolean;
  /** False: it was recorded as it came, and is not executed again. */
  readonly derived: boolean;
  /** Why it ended the episode; null where it did not. */
  readonly done: string | null;
  /** What the evaluator gave it; null where it is not scored, or masked. */
  readonly reward: number | null;
}

export interface ShownEvents {
  readonly before: readonly ShownEvent[];
  /** Where the message ends its episode. */
  readonly after: readonly ShownEvent[];
}

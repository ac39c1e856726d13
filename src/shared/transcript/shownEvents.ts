/** Environment events in the form of a page. */

/** An addition of an environment to an episode: feedback, the result of a tool, a vote. */
export interface ShownEvent {
  readonly source: string;
  readonly text: string;
  /** The round that it belongs to, from 1; null if the protocol has none. */
  readonly round: number | null;
  /** True for the event that closes the episode and is scored. */
  readonly closing: boolean;
  /** False if it was recorded as it came, and is not executed again. */
  readonly derived: boolean;
  /** The reason why it ended the episode, or null if it did not. */
  readonly done: string | null;
  /** The score of the evaluator; null if it is not scored, or masked. */
  readonly reward: number | null;
}

export interface ShownEvents {
  readonly before: readonly ShownEvent[];
  /** Present only if the message ends its episode. */
  readonly after: readonly ShownEvent[];
}

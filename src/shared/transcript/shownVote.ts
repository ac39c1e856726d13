/** The vote that ended an episode, in the form of a page. */

/** One voter. */
export interface ShownVoter {
  /** The id of its message. */
  readonly message: number;
  readonly role: string;
  /** The stated answer; null if there is none, so that the voter has no vote. */
  readonly answer: string | null;
  /** True if the vote chose its answer. */
  readonly chosen: boolean;
  /** The answers that the vote chooses without this voter. */
  readonly without: readonly string[];
  /** True if `without` differs from the chosen answers. */
  readonly pivotal: boolean;
  /** The loss of the vote's reward without the voter; null if an answer cannot be scored here. */
  readonly contribution: number | null;
  /** Its Shapley value; null if `contribution` is, and in votes with too many voters. */
  readonly shapley: number | null;
}

/** The votes for one answer. */
export interface ShownTally {
  readonly answer: string;
  readonly votes: number;
  /** True if the vote chose it. Several answers are chosen if a tie counts as the mean over its answers. */
  readonly chosen: boolean;
}

export interface ShownVote {
  /** In the order in which they count. */
  readonly voters: readonly ShownVoter[];
  /** The answers in the order of their first votes. */
  readonly tally: readonly ShownTally[];
  /** The rule for answers with equally many votes. */
  readonly ties: 'first' | 'expected' | 'abstain' | 'seeded';
  /** True if several answers had the most votes, so that the rule decided. */
  readonly tied: boolean;
  /** Evaluator calls for the contributions: each stated answer is scored once. */
  readonly evaluatorCalls: number;
}

/** The effect of each rule for ties. */
export const TIE_WORDS: Readonly<Record<ShownVote['ties'], string>> = {
  first: 'the first of them is chosen',
  expected: 'the reward is the mean over them',
  abstain: 'none is chosen',
  seeded: 'one of them is drawn',
};

/** The vote that ended an episode, as a page shows it. */

/** One who was asked. */
export interface ShownVoter {
  /** The id of its message. */
  readonly message: number;
  readonly role: string;
  /** As it states it; null where it states none, and so has no vote. */
  readonly answer: string | null;
  /** Whether the vote chose its answer. */
  readonly chosen: boolean;
  /** The answers that the vote chooses without this voter. */
  readonly without: readonly string[];
  /** Whether they are others than those that it chose: the voter was pivotal. */
  readonly pivotal: boolean;
  /** What the reward of the vote loses without the voter; null where an answer cannot be scored here. */
  readonly contribution: number | null;
  /** Its Shapley value; null where that is so, and in votes of very many. */
  readonly shapley: number | null;
}

/** The votes for one answer. */
export interface ShownTally {
  readonly answer: string;
  readonly votes: number;
  /** Whether the vote chose it; several are chosen where a tie counts as the mean over its answers. */
  readonly chosen: boolean;
}

export interface ShownVote {
  /** In the order in which they count. */
  readonly voters: readonly ShownVoter[];
  /** The answers in the order of their first votes. */
  readonly tally: readonly ShownTally[];
  /** The rule for answers with equally many votes. */
  readonly ties: 'first' | 'expected' | 'abstain' | 'seeded';
  /** Whether several answers had the most votes, so that the rule decided. */
  readonly tied: boolean;
  /** Evaluator calls that contributions took: each answer that is stated is scored once. */
  readonly evaluatorCalls: number;
}

/** What a rule for ties makes of them. */
export const TIE_WORDS: Readonly<Record<ShownVote['ties'], string>> = {
  first: 'the first of them is chosen',
  expected: 'the reward is the mean over them',
  abstain: 'none is chosen',
  seeded: 'one of them is drawn',
};

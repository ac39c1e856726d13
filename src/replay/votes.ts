/** Counts a vote again without some of its voters. */

import { tallyBallots, chooseWinners, type Ballot } from '../environment/voting.ts';

/** A voter's choice, with the score of its answer by itself. */
export type ScoredBallot = Pick<Ballot, 'name'> & { readonly score: number };

/** A vote with all data that is needed to count it without some of its voters. */
export interface Vote {
  /** The ids of the voters' turns, in their order. */
  readonly voters: readonly string[];
  /** The ballots in the same order. Null for a voter without an answer. */
  readonly ballots: readonly (ScoredBallot | null)[];
  /** The rule for ties. */
  readonly ties: string | undefined;
  /** Returns the random numbers that the vote drew, by their index. */
  readonly uniform: (place: number) => number;
}

/**
 * Returns the reward of a vote of some of its voters, by the same rule and random numbers: the
 * score of the winning answer, the mean if ties are `expected`, or 0 if none wins.
 * @param members true for each voter that takes part, in their order
 */
export function computeVoteReward(
  { ballots, ties, uniform }: Pick<Vote, 'ballots' | 'ties' | 'uniform'>,
  members: readonly boolean[],
): number {
  const cast = ballots.flatMap((ballot, voter) => (members[voter] === true ? (ballot ?? []) : []));
  const winners = chooseWinners(tallyBallots(cast), ties, uniform);
  const sum = winners.reduce((total, { score }) => total + score, 0);
  return winners.length === 0 ? 0 : sum / winners.length;
}

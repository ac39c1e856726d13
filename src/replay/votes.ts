/** A vote counted again without some of its voters. */
import { tallyOf, winnersOf, type Ballot } from '../environment/voting.ts';

/** What a voter votes for, with the score that its answer has by itself. */
export type ScoredBallot = Pick<Ballot, 'name'> & { readonly score: number };

/** A vote with all that is needed to count it without some of its voters. */
export interface Vote {
  /** The ids of the voters' turns, in their order. */
  readonly voters: readonly string[];
  /** In the same order; null for one who states no answer. */
  readonly ballots: readonly (ScoredBallot | null)[];
  /** The rule of ties. */
  readonly ties: string | undefined;
  /** The random numbers that the vote drew from, by their place. */
  readonly uniform: (place: number) => number;
}

/**
 * The reward of a vote of some of its voters, by the same rule and the same random numbers: the score of the answer
 * that wins, the mean where ties are `expected`, and 0 where none wins.
 * @param members whether each voter takes part, in their order
 */
export function rewardOfVote(
  { ballots, ties, uniform }: Pick<Vote, 'ballots' | 'ties' | 'uniform'>,
  members: readonly boolean[],
): number {
  const cast = ballots.flatMap((ballot, voter) => (members[voter] === true ? (ballot ?? []) : []));
  const winners = winnersOf(tallyOf(cast), ties, uniform);
  const sum = winners.reduce((total, { score }) => total + score, 0);
  return winners.length === 0 ? 0 : sum / winners.length;
}

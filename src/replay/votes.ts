/** Votes that end episodes, counted again without some of their voters: nothing is sampled for it. */
import { ballotOf, tallyOf, winnersOf, type Ballot } from '../environment/voting.ts';
import type { Evaluator } from '../evaluate/evaluator.ts';
import { Stream } from '../runtime/random.ts';
import { CancelledError } from '../shared/errors.ts';
import type { Instance } from '../shared/records/records.ts';
import { occurrenceAt, type Protocol } from '../team/protocol.ts';
import { readBy } from '../team/rounds.ts';
import type { EnvironmentCall } from '../team/roundsForm.ts';
import { leavesOf, logOf, type TreeNode } from './tree.ts';

/** Whether a protocol has one round of roles who do not see each other, which a vote of all of them ends. */
export function isVotingTeam({ occurrences, rounds }: Protocol): boolean {
  return (
    rounds?.closing?.name === 'vote' &&
    rounds.closing.of === null &&
    rounds.turns === 1 &&
    rounds.order === 'by_role' &&
    rounds.after.size === 0 &&
    occurrences.every(({ ancestors, scored }) => ancestors.length === 0 && !scored)
  );
}

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

/**
 * The votes that end the episodes of some trees, by their last messages. Each answer that is stated is scored, once for
 * an instance; an episode with one that cannot be scored is left out.
 * @param roots episodes of a team that `isVotingTeam` names
 * @throws CancelledError; EvaluatorLost
 */
export async function votesOf(
  roots: readonly TreeNode[],
  { protocol, evaluator }: { readonly protocol: Protocol; readonly evaluator: Evaluator },
  signal: AbortSignal,
): Promise<ReadonlyMap<TreeNode, Vote>> {
  const votes = new Map<TreeNode, Vote>();
  const closing = protocol.rounds?.closing ?? null;
  if (closing === null) {
    return votes;
  }
  const scoreOf = scoresOfAnswers(evaluator, signal);
  for (const leaf of roots.flatMap(leavesOf)) {
    const vote = await voteAt(leaf, protocol, closing, scoreOf);
    if (vote !== null) {
      votes.set(leaf, vote);
    }
  }
  return votes;
}

type ScoreOf = (instance: Instance, answer: string) => Promise<number | null>;

/** What answers get by themselves, each asked for once. */
function scoresOfAnswers(evaluator: Evaluator, signal: AbortSignal): ScoreOf {
  const known = new Map<string, number | null>();
  return async (instance, answer) => {
    const key = `${instance.uidSha} ${answer}`;
    const stored = known.get(key);
    if (stored !== undefined) {
      return stored;
    }
    if (signal.aborted) {
      throw new CancelledError();
    }
    // In the form in which a vote states what it chose.
    const { score } = await evaluator.evaluate(instance, `#### ${answer}`, signal);
    known.set(key, score);
    return score;
  };
}

/** The vote that ends an episode; null where none does, or an answer has no score. */
async function voteAt(
  leaf: TreeNode,
  protocol: Protocol,
  closing: EnvironmentCall,
  scoreOf: ScoreOf,
): Promise<Vote | null> {
  const event = leaf.after?.at(-1)?.event;
  if (event?.closing !== true) {
    return null;
  }
  const messages = readBy(protocol, closing, logOf(protocol, { node: leaf }));
  const ballots: (ScoredBallot | null)[] = [];
  for (const { text } of messages) {
    const ballot = ballotOf(text);
    const score = ballot === null ? 0 : await scoreOf(leaf.instance, ballot.answer);
    if (score === null) {
      return null;
    }
    ballots.push(ballot === null ? null : { name: ballot.name, score });
  }
  const stream = new Stream(event.streamKey);
  return {
    voters: messages.map(({ position }) => occurrenceAt(protocol, position).id),
    ballots,
    ties: closing.options['ties'],
    uniform: (place) => stream.uniform(place),
  };
}

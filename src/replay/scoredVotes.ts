/** Scores every answer of the votes that ended episodes. Nothing is sampled. */

import type { Problem } from '../domain/problem.ts';
import { readBallot } from '../environment/voting.ts';
import type { Evaluator } from '../evaluate/evaluator.ts';
import { Stream } from '../runtime/random.ts';
import { CancelledError } from '../shared/errors.ts';
import { requireOccurrence, type Protocol } from '../team/protocol.ts';
import { listMessagesRead } from '../team/rounds.ts';
import type { EnvironmentCall } from '../team/roundsForm.ts';
import { findLeaves, toLog, type TreeMessage } from './tree.ts';
import type { ScoredBallot, Vote } from './votes.ts';

/**
 * Returns the votes that end the episodes of some trees, by their last messages. Each stated answer
 * of a problem is scored once, in a call that no budget counts. An episode with an answer that
 * cannot be scored is left out.
 * @returns the votes with the number of calls
 * @param roots episodes of a team for which `isVotingTeam` (team/votingTeam.ts) returns true
 * @throws CancelledError; EvaluatorLost
 */
export async function scoreVotes(
  roots: readonly TreeMessage[],
  { protocol, evaluator }: { readonly protocol: Protocol; readonly evaluator: Evaluator },
  signal: AbortSignal,
): Promise<{ readonly votes: ReadonlyMap<TreeMessage, Vote>; readonly calls: number }> {
  const votes = new Map<TreeMessage, Vote>();
  const closing = protocol.rounds?.closing ?? null;
  if (closing === null) {
    return { votes, calls: 0 };
  }
  const known = new Map<string, number | null>();
  const scoreOf = createAnswerScorer(evaluator, known, signal);
  for (const leaf of roots.flatMap(findLeaves)) {
    const vote = await readVote(leaf, protocol, closing, scoreOf);
    if (vote !== null) {
      votes.set(leaf, vote);
    }
  }
  return { votes, calls: known.size };
}

type ScoreOf = (problem: Problem, answer: string) => Promise<number | null>;

/** Returns a function that scores answers by themselves, each once. */
function createAnswerScorer(evaluator: Evaluator, known: Map<string, number | null>, signal: AbortSignal): ScoreOf {
  return async (problem, answer) => {
    const key = `${problem.uidSha} ${answer}`;
    const stored = known.get(key);
    if (stored !== undefined) {
      return stored;
    }
    if (signal.aborted) {
      throw new CancelledError();
    }
    // This is the form in which a vote states its choice.
    const { score } = await evaluator.evaluate(problem, `#### ${answer}`, signal);
    known.set(key, score);
    return score;
  };
}

/** Returns the vote that ends an episode, or null if there is none, or if an answer has no score. */
async function readVote(
  leaf: TreeMessage,
  protocol: Protocol,
  closing: EnvironmentCall,
  scoreOf: ScoreOf,
): Promise<Vote | null> {
  const event = leaf.after?.at(-1)?.event;
  if (event?.closing !== true) {
    return null;
  }
  const messages = listMessagesRead(protocol, closing, toLog(protocol, { message: leaf }));
  const ballots: (ScoredBallot | null)[] = [];
  for (const { text } of messages) {
    const ballot = readBallot(text);
    const score = ballot === null ? 0 : await scoreOf(leaf.problem, ballot.answer);
    if (score === null) {
      return null;
    }
    ballots.push(ballot === null ? null : { name: ballot.name, score });
  }
  const stream = new Stream(event.streamKey);
  return {
    voters: messages.map(({ position }) => requireOccurrence(protocol, position).id),
    ballots,
    ties: closing.options['ties'],
    uniform: (place) => stream.uniform(place),
  };
}

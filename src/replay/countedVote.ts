/** Recounts a stored vote for display: the ballots, and the result without each voter. */

import { MOST_ROLES, removalContributions, shapleyValues } from '../credit/coalitions.ts';
import type { SaidEvent, EnvironmentEvent } from '../domain/episode.ts';
import type { Message } from '../domain/message.ts';
import type { Problem } from '../domain/problem.ts';
import { readBallot, tallyBallots, TIE_RULES, chooseWinners, type Ballot } from '../environment/voting.ts';
import type { Evaluator } from '../evaluate/evaluator.ts';
import { Stream } from '../runtime/random.ts';
import type { ShownVote } from '../shared/transcript/shownVote.ts';
import type { Protocol } from '../team/protocol.ts';
import { listMessagesRead } from '../team/rounds.ts';
import type { EnvironmentCall } from '../team/roundsForm.ts';
import { computeVoteReward, type ScoredBallot } from './votes.ts';

/** A stored episode that ended in a vote. */
export interface StoredVote {
  readonly problem: Problem;
  readonly protocol: Protocol;
  /** Its messages, in order. */
  readonly messages: readonly Pick<Message, 'id' | 'role' | 'position' | 'text'>[];
  /** The event that closed it. */
  readonly event: Pick<EnvironmentEvent, 'streamKey'>;
}

/**
 * Counts the vote that closed an episode, and again without each voter, by the same rule and random
 * numbers. Nothing is sampled. Contributions are those of CCPO (section 1), D_i = R(all) - R(all
 * but i), before any bound or discount.
 * @returns null if the protocol does not end in a vote
 */
export async function recountVote(
  { problem, protocol, messages, event }: StoredVote,
  evaluator: Evaluator,
): Promise<ShownVote | null> {
  const closing = protocol.rounds?.closing ?? null;
  if (closing?.name !== 'vote') {
    return null;
  }
  const asked = findCountedMessages(protocol, closing, messages);
  const ballots = asked.map(({ text }) => readBallot(text));
  const ties = TIE_RULES.find((rule) => rule === closing.options['ties']) ?? TIE_RULES[0];
  const stream = new Stream(event.streamKey);
  const uniform = (place: number): number => stream.uniform(place);
  const chosenBy = (members: readonly (Ballot | null)[]): Ballot[] =>
    chooseWinners(tallyBallots(members.flatMap((ballot) => ballot ?? [])), ties, uniform);
  const tally = tallyBallots(ballots.flatMap((ballot) => ballot ?? []));
  const most = Math.max(0, ...tally.map(({ count }) => count));
  const chosen = new Set(chosenBy(ballots).map(({ name }) => name));
  const scored = await scoreBallots(ballots, problem, evaluator);
  const each = (worthOf: typeof removalContributions): readonly number[] | null =>
    scored === null
      ? null
      : worthOf(asked.length, (members) => computeVoteReward({ ballots: scored.ballots, ties, uniform }, members));
  const contributions = each(removalContributions);
  const shapley = asked.length > MOST_ROLES ? null : each(shapleyValues);
  return {
    voters: asked.map(({ id, role }, voter) => {
      const without = chosenBy(ballots.filter((_, other) => other !== voter));
      return {
        message: id,
        role,
        answer: ballots[voter]?.answer ?? null,
        chosen: chosen.has(ballots[voter]?.name ?? ''),
        without: without.map(({ answer }) => answer),
        pivotal: without.length !== chosen.size || without.some(({ name }) => !chosen.has(name)),
        contribution: contributions?.[voter] ?? null,
        shapley: shapley?.[voter] ?? null,
      };
    }),
    tally: tally.map(({ first, count }) => ({ answer: first.answer, votes: count, chosen: chosen.has(first.name) })),
    ties,
    tied: tally.filter(({ count }) => count === most).length > 1,
    evaluatorCalls: scored?.calls ?? 0,
  };
}

/** Returns the messages that the vote counts, in order. */
function findCountedMessages(
  protocol: Protocol,
  closing: EnvironmentCall,
  messages: StoredVote['messages'],
): readonly StoredVote['messages'][number][] {
  const log = messages.map((message) => {
    const { role, position, text } = message;
    return { message, event: { kind: 'decision', position, role, text } satisfies SaidEvent };
  });
  const read: ReadonlySet<SaidEvent> = new Set(
    listMessagesRead(
      protocol,
      closing,
      log.map(({ event }) => event),
    ),
  );
  return log.flatMap(({ message, event }) => (read.has(event) ? [message] : []));
}

/**
 * Scores each distinct answer of the ballots once. Returns null if one cannot be scored.
 * @returns the scored ballots with the number of evaluator calls
 */
async function scoreBallots(
  ballots: readonly (Ballot | null)[],
  problem: Problem,
  evaluator: Evaluator,
): Promise<{ readonly ballots: (ScoredBallot | null)[]; readonly calls: number } | null> {
  const scores = new Map<string, number>();
  const scored: (ScoredBallot | null)[] = [];
  for (const ballot of ballots) {
    if (ballot === null) {
      scored.push(null);
      continue;
    }
    let score = scores.get(ballot.answer) ?? null;
    if (score === null) {
      // This is the form in which a vote states its choice.
      ({ score } = await evaluator.evaluate(problem, `#### ${ballot.answer}`));
      if (score === null) {
        return null;
      }
      scores.set(ballot.answer, score);
    }
    scored.push({ name: ballot.name, score });
  }
  return { ballots: scored, calls: scores.size };
}

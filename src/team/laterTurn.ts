/** From a log to what a role reads in a turn after its first, where the protocol has a history. */
import { extractedOf, promptFor, type EnvironmentEvent, type LogEvent } from '../domain/episode.ts';
import { turnMessages, type OwnTurn } from './history.ts';
import type { PromptMessage } from './promptMessage.ts';
import { occurrenceAt, type Protocol } from './protocol.ts';
import { betweenRounds, ownMessages, visibleInRound } from './rounds.ts';

const joined = (texts: readonly string[]): string => texts.filter((text) => text.trim() !== '').join('\n\n');

/**
 * The messages that the role at a position reads after a log in which it has spoken.
 * @param opening what it read in its first turn
 */
export function laterTurn(
  protocol: Protocol,
  position: number,
  log: readonly LogEvent[],
  opening: readonly PromptMessage[],
): readonly PromptMessage[] {
  const { rounds, roles } = protocol;
  if (rounds?.history === undefined) {
    return opening;
  }
  const { role } = occurrenceAt(protocol, position);
  const between = betweenRounds(rounds, log);
  const after = (round: number): readonly EnvironmentEvent[] => between.get(round) ?? [];
  const askedAfter = (round: number): string => joined(after(round).map((event) => promptFor(event, role)));
  const turns = ownMessages(rounds, log, role).map(({ round, event }, index): OwnTurn => {
    const found = after(round)
      .map((one) => extractedOf(one, role))
      .filter((one) => one !== undefined);
    return {
      prompt: index === 0 ? joined(opening.map(({ content }) => content)) : askedAfter(round - 1),
      response: event.text,
      extracted: found.length === 0 ? event.text : (found.at(-1) ?? null),
    };
  });
  // What others said in this round already goes behind what is asked.
  const others = visibleInRound(protocol, position, log).map((event) =>
    event.kind === 'environment' ? promptFor(event, role) : event.text,
  );
  const newest = Math.max(0, ...between.keys());
  return turnMessages(rounds.history, {
    opening,
    turns,
    asked: joined([askedAfter(newest), ...others]),
    writes: roles.length === 1 ? 'response' : `${role} implementation`,
  });
}

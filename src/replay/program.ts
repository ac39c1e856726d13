/** Episodes whose order only a user's program knows. It turns the log into the next step. */

import { MAX_EVENT_TEXT, type EnvironmentEvent, type LogEvent } from '../domain/episode.ts';
import type { FullMessage } from '../domain/message.ts';
import type { Problem } from '../domain/problem.ts';
import { C3Error } from '../shared/errors.ts';
import type { Protocol } from '../team/protocol.ts';

/** The next step of an episode. */
export type ProgramStep =
  /** @param context the role's complete input as text */
  | { readonly kind: 'message'; readonly role: string; readonly context: string }
  | { readonly kind: 'event'; readonly source: string; readonly text: string }
  /** @param reward the program's own score, or null if the evaluator scores the text */
  | { readonly kind: 'end'; readonly text: string; readonly reward: number | null };

export interface EpisodeProgram {
  /** True if its context is used even if another one was recorded, because some logs lack contexts. */
  readonly ownContexts: boolean;
  /**
   * Returns the step after a log. The same log gives the same step if the program is deterministic.
   * @throws C3Error('engine') if the program cannot continue from there; CancelledError
   */
  readonly next: (problem: Problem, log: readonly LogEvent[], signal: AbortSignal) => Promise<ProgramStep>;
}

/** The source of the event that ends an episode of a program. */
const PROGRAM = 'program';

/**
 * Converts a step to an event of a log.
 * @throws C3Error('engine') if its text is too long
 */
export function toProgramEvent(step: Exclude<ProgramStep, { kind: 'message' }>): EnvironmentEvent {
  const isEnd = step.kind === 'end';
  const text = step.text.toWellFormed();
  if (text.length > MAX_EVENT_TEXT) {
    throw new C3Error('engine', `The program says more than ${MAX_EVENT_TEXT} characters at once.`);
  }
  return {
    kind: 'environment',
    source: isEnd ? PROGRAM : step.source,
    text,
    json: isEnd && step.reward !== null ? { reward: step.reward } : null,
    done: isEnd ? 'the program ended' : null,
    derived: false,
    streamKey: '',
    closing: isEnd,
  };
}

/**
 * Returns the position of a role's next message in a protocol in which every role may speak at any
 * time.
 * @throws C3Error('engine') if the protocol lacks the role, or the role speaks too often
 */
export function findNextPosition(protocol: Protocol, log: readonly LogEvent[], role: string): number {
  const turn = log.filter((event) => event.kind === 'decision' && event.role === role).length;
  return findPosition(protocol, role, turn);
}

/** Returns the position of a role's message at a turn. */
export function findPosition({ occurrences, name }: Protocol, role: string, turn: number): number {
  const own = occurrences.filter((one) => one.role === role);
  const found = own.find((one) => one.turn === turn);
  if (found === undefined) {
    throw new C3Error(
      'engine',
      own.length === 0
        ? `The program lets ${JSON.stringify(role.slice(0, 60))} speak, which has no message in ${name}; the source of its messages is unknown, so nothing was replayed.`
        : `The program lets ${role} speak more than ${own.length} times in one episode; end it before.`,
    );
  }
  return found.position;
}

/**
 * Returns a stored message at its position in the episode of a program. Recordings have one
 * position for all turns of a role.
 */
export const placeMessage = (
  { program, protocol }: { readonly program?: EpisodeProgram; readonly protocol: Protocol },
  message: FullMessage,
): FullMessage =>
  program === undefined ? message : { ...message, position: findPosition(protocol, message.role, message.turn) };

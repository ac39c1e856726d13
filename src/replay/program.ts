/**
 * Episodes whose order is known to a program of the user's alone: it is given the log so far and says what is next.
 */
import { MAX_EVENT_TEXT, type EnvironmentEvent, type LogEvent } from '../domain/episode.ts';
import type { FullMessage } from '../domain/message.ts';
import type { Problem } from '../domain/problem.ts';
import { C3Error } from '../shared/errors.ts';
import type { Protocol } from '../team/protocol.ts';

/** What a program says is next. */
export type ProgramStep =
  /** @param context what the role is asked with, as text that says all of it */
  | { readonly kind: 'message'; readonly role: string; readonly context: string }
  | { readonly kind: 'event'; readonly source: string; readonly text: string }
  /** @param reward what the program itself scores; null where the evaluator scores the text */
  | { readonly kind: 'end'; readonly text: string; readonly reward: number | null };

export interface EpisodeProgram {
  /** Whether what it asks with counts where something else was recorded: some logs do not have what was asked. */
  readonly ownContexts: boolean;
  /**
   * What comes after a log; the same log gives the same step, so far as the program is a function of it.
   * @throws C3Error('engine') where the program does not go on from there; CancelledError
   */
  readonly next: (problem: Problem, log: readonly LogEvent[], signal: AbortSignal) => Promise<ProgramStep>;
}

/** The source of the event that ends an episode of a program. */
const PROGRAM = 'program';

/** What a program says as an entry of a log. @throws C3Error('engine') where it says too much */
export function programEvent(step: Exclude<ProgramStep, { kind: 'message' }>): EnvironmentEvent {
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
 * The place of a role's next message in a protocol that lets every role speak at any time.
 * @throws C3Error('engine') for a role that the protocol has not, or one that speaks too often
 */
export function positionNext(protocol: Protocol, log: readonly LogEvent[], role: string): number {
  const turn = log.filter((event) => event.kind === 'decision' && event.role === role).length;
  return positionAt(protocol, role, turn);
}

/** The place of the message that is a role's turn-th. */
export function positionAt({ occurrences, name }: Protocol, role: string, turn: number): number {
  const own = occurrences.filter((one) => one.role === role);
  const found = own.find((one) => one.turn === turn);
  if (found === undefined) {
    throw new C3Error(
      'engine',
      own.length === 0
        ? `The program lets ${JSON.stringify(role.slice(0, 60))} speak, who said nothing in ${name}; what this role says has no known source, so nothing was replayed.`
        : `The program lets ${role} speak more than ${own.length} times in one episode; end it before.`,
    );
  }
  return found.position;
}

/** A stored message where it is in the episode of a program: what is recorded has one place for all turns of a role. */
export const placedMessage = (
  { program, protocol }: { readonly program?: EpisodeProgram; readonly protocol: Protocol },
  message: FullMessage,
): FullMessage =>
  program === undefined ? message : { ...message, position: positionAt(protocol, message.role, message.turn) };

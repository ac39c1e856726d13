/** Who speaks when, who sees what, and which messages are scored (C3 eq. 1 and 4). Plain data and its helpers. */
import { C3Error } from '../shared/errors.ts';
import type { Rounds } from './roundsForm.ts';

/** A role: who speaks, with its system prompt. */
export interface Role {
  readonly name: string;
  /** System prompt; may hold placeholders, see renderContext. */
  readonly prompt: string;
  /** The role's own cap on new tokens; null where the run's setting holds. */
  readonly maxNewTokens: number | null;
}

/** One place in the episode at which a role speaks. */
export interface Occurrence {
  /** Unique within the protocol: the role's name, then role#2, ..., or what the file says. */
  readonly id: string;
  readonly role: string;
  /** How often the same role spoke before, in canonical order. */
  readonly turn: number;
  /** Index in `occurrences`. */
  readonly position: number;
  /** Positions that it depends on directly, ascending. */
  readonly parents: readonly number[];
  /** Positions whose messages it sees: its transitive dependencies, ascending. Parallel roles do not see each other. */
  readonly ancestors: readonly number[];
  /** True where the evaluator scores the message. */
  readonly scored: boolean;
}

export interface Protocol {
  readonly name: string;
  /** In the file's order. */
  readonly roles: readonly Role[];
  /** In canonical order: Kahn's, with a first-in-first-out queue seeded in the file's order. */
  readonly occurrences: readonly Occurrence[];
  /**
   * How the episode unfolds where its length is not known beforehand; `occurrences` then lists all that may come, the
   * messages of one round after those of the other. Absent: every occurrence comes, in canonical order.
   */
  readonly rounds?: Rounds;
}

/**
 * The occurrence at a position of the canonical order.
 * @throws C3Error('input') when the protocol has no such position
 */
export function occurrenceAt(protocol: Protocol, position: number): Occurrence {
  const occurrence = protocol.occurrences[position];
  if (occurrence === undefined) {
    throw new C3Error(
      'input',
      `Protocol '${protocol.name}' has no position ${position}; it has ${protocol.occurrences.length}, counted from 0.`,
    );
  }
  return occurrence;
}

/**
 * A role by its name.
 * @throws C3Error('input') when the protocol has no such role
 */
export function roleNamed(protocol: Protocol, name: string): Role {
  const role = protocol.roles.find((candidate) => candidate.name === name);
  if (role === undefined) {
    throw new C3Error('input', `Protocol '${protocol.name}' has no role '${name}'.`);
  }
  return role;
}

/** Positions that see the message at `position`, ascending: what a replay of it has to regenerate. */
export function descendants(protocol: Protocol, position: number): number[] {
  occurrenceAt(protocol, position);
  return protocol.occurrences.filter((other) => other.ancestors.includes(position)).map((other) => other.position);
}

/**
 * True where no scored message lies downstream, so that the text of an alternative determines its return: one replay is
 * enough. A scored message followed by unscored ones is terminal in this sense. Where an episode unfolds in rounds,
 * nothing is known of that beforehand: a replay that ends at once is made once all the same.
 */
export function isTerminal(protocol: Protocol, position: number): boolean {
  occurrenceAt(protocol, position);
  return (
    protocol.rounds === undefined &&
    !protocol.occurrences.some((other) => other.scored && other.ancestors.includes(position))
  );
}

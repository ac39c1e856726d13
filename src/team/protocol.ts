/** Order of speakers, visibility and scoring of messages (C3 eq. 1 and 4). Plain data and its helpers. */

import { C3Error } from '../shared/errors.ts';
import type { Rounds } from './roundsForm.ts';

/** A role: a speaker with its system prompt. */
export interface Role {
  readonly name: string;
  /** System prompt; may contain placeholders, see renderContext. */
  readonly prompt: string;
  /** The role's own limit of new tokens; null for the run's setting. */
  readonly maxNewTokens: number | null;
}

/** One place in the episode at which a role speaks. */
export interface Occurrence {
  /** Unique within the protocol: the role's name, then role#2, ..., or the id in the file. */
  readonly id: string;
  readonly role: string;
  /** Number of earlier occurrences of the role, in canonical order. */
  readonly turn: number;
  /** Index in `occurrences`. */
  readonly position: number;
  /** Positions of its direct dependencies, ascending. */
  readonly parents: readonly number[];
  /** Positions that it sees: its transitive dependencies, ascending. Parallel roles are not visible. */
  readonly ancestors: readonly number[];
  /** True if the evaluator scores the message. */
  readonly scored: boolean;
}

export interface Protocol {
  readonly name: string;
  /** In the file's order. */
  readonly roles: readonly Role[];
  /** In canonical order: Kahn's, with a first-in-first-out queue seeded in the file's order. */
  readonly occurrences: readonly Occurrence[];
  /**
   * The course of an episode whose length is not known beforehand. `occurrences` then lists all possible
   * ones, round after round. Absent if every occurrence comes, in canonical order.
   */
  readonly rounds?: Rounds;
}

/**
 * Returns the occurrence at a position of the canonical order.
 * @throws C3Error('input') if the protocol has no such position
 */
export function requireOccurrence(protocol: Protocol, position: number): Occurrence {
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
 * Returns a role by its name.
 * @throws C3Error('input') if the protocol has no such role
 */
export function requireRole(protocol: Protocol, name: string): Role {
  const role = protocol.roles.find((candidate) => candidate.name === name);
  if (role === undefined) {
    throw new C3Error(
      'input',
      `Protocol '${protocol.name}' has no role '${name}'; it has ${protocol.roles.map((one) => one.name).join(', ')}.`,
    );
  }
  return role;
}

/** Returns the positions that see a message, ascending. Its replay regenerates them. */
export function listDescendants(protocol: Protocol, position: number): number[] {
  requireOccurrence(protocol, position);
  return protocol.occurrences.filter((other) => other.ancestors.includes(position)).map((other) => other.position);
}

/**
 * Returns true if no scored message lies downstream, so that the text of an alternative determines its
 * return and one replay suffices. A scored message followed by unscored ones is terminal in this
 * sense. In a protocol with rounds this is not known beforehand; a replay that ends at once is then
 * still made once.
 */
export function isTerminal(protocol: Protocol, position: number): boolean {
  requireOccurrence(protocol, position);
  return (
    protocol.rounds === undefined &&
    !protocol.occurrences.some((other) => other.scored && other.ancestors.includes(position))
  );
}

/** The form of an episode that unfolds in rounds: plain data. */

import type { History } from './history.ts';

/**
 * The order of speakers within a round. by_role: by the dependencies of the roles; parallel roles do
 * not see each other. fixed, reverse: one after another, each sees all before it. random: likewise, in
 * an order drawn for each round. drawn: each message is a round, and its speaker is drawn from all
 * roles. chosen: likewise, but the message names the next speaker.
 */
export const ORDERS = ['by_role', 'fixed', 'reverse', 'random', 'drawn', 'chosen'] as const;
export type Order = (typeof ORDERS)[number];

/** Returns true if each message is a round by any of the roles. */
export const isOneByOne = (order: Order | undefined): boolean => order === 'drawn' || order === 'chosen';

/** The earlier rounds that a role remembers: all of them, or only the last. */
export const MEMORIES = ['full', 'last'] as const;

/** A call of an environment. */
export interface EnvironmentCall {
  readonly name: string;
  readonly options: Readonly<Record<string, string>>;
  /** The role whose messages it reads; null for all roles. */
  readonly of: string | null;
}

export interface Rounds {
  /** Largest number of rounds. */
  readonly turns: number;
  /** Number of occurrences in one round. */
  readonly size: number;
  readonly order: Order;
  /** Calls after the turn with this index in each round. */
  readonly after: ReadonlyMap<number, readonly EnvironmentCall[]>;
  /** Calls between two rounds. */
  readonly between: readonly EnvironmentCall[];
  /** The rewards of a round that end the episode after it; null if none do. */
  readonly until: number | null;
  readonly memory: (typeof MEMORIES)[number];
  /**
   * The part of its own turns that a role remembers, if an environment asks every role anew in each
   * round. Absent: a role reads the visible part of the log, as in its first turn.
   */
  readonly history?: History;
  /** The call at the end of the episode; its event is scored. */
  readonly closing: EnvironmentCall | null;
  /** A reward of the k-th round, from 0, is multiplied by discount ** k. */
  readonly discount: number;
  readonly maxEvents: number;
}

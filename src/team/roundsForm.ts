/** The form of an episode that unfolds in rounds: plain data. */
import type { History } from './history.ts';

/**
 * Who speaks when within a round. by_role: as the roles depend on each other, where parallel ones do not see each
 * other; fixed, reverse: one after another, each sees all before; random: likewise, in an order drawn for each round;
 * drawn: one message is a round, and each speaker is drawn from all roles; chosen: likewise, and the message names the
 * next speaker.
 */
export const ORDERS = ['by_role', 'fixed', 'reverse', 'random', 'drawn', 'chosen'] as const;
export type Order = (typeof ORDERS)[number];

/** Whether one message is a round, by any of the roles. */
export const isOneByOne = (order: Order | undefined): boolean => order === 'drawn' || order === 'chosen';

/** What an earlier round is to a role: nothing but the last one, or all of them. */
export const MEMORIES = ['full', 'last'] as const;

/** A call of an environment. */
export interface EnvironmentCall {
  readonly name: string;
  readonly options: Readonly<Record<string, string>>;
  /** The role whose messages it reads; null for all of them. */
  readonly of: string | null;
}

export interface Rounds {
  /** Rounds at most. */
  readonly turns: number;
  /** Occurrences of one round. */
  readonly size: number;
  readonly order: Order;
  /** Called after the turn of this index in each round. */
  readonly after: ReadonlyMap<number, readonly EnvironmentCall[]>;
  /** Called between two rounds. */
  readonly between: readonly EnvironmentCall[];
  /** The rewards of a round that end the episode after it; null: none do. */
  readonly until: number | null;
  readonly memory: (typeof MEMORIES)[number];
  /**
   * Where an environment asks every role anew in each round: what a role then remembers of its own turns. Absent: a
   * role reads what it sees of the log, as in its first turn.
   */
  readonly history?: History;
  /** Called once in the end; its event is scored. */
  readonly closing: EnvironmentCall | null;
  /** A reward of the k-th round, from 0, counts as discount ** k of itself. */
  readonly discount: number;
  readonly maxEvents: number;
}

/**
 * Small teams that take turns over a shared context, as decision processes in tables: occupancies, advantages and
 * returns of any team policy are solutions of linear equations, exact but for rounding.
 */

import type { Numbers } from '../credit/tabular.ts';

/** Probabilities of actions by state; a role's policy is the rows of its own states. */
export type TeamPolicy = readonly (readonly number[])[];

export interface TreeMessages {
  readonly gamma: number;
  readonly roles: number;
  /** Who acts, by state; the state after an action is one of the next role. */
  readonly actor: readonly number[];
  readonly start: readonly number[];
  /** By state and action: the distribution of the next state, and the reward. */
  readonly next: readonly (readonly (readonly number[])[])[];
  readonly reward: readonly (readonly number[])[];
}

const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
const at = (values: readonly number[] | undefined, index: number): number => values?.[index] ?? NaN;
export const dot = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, index) => sum + value * at(b, index), 0);

/** A random distribution, often uneven. */
export function distribution(numbers: Numbers, size: number): number[] {
  const raw = times(size, () => (1e-3 - Math.log(1 - numbers.next())) ** 2);
  const total = raw.reduce((sum, one) => sum + one, 0);
  return raw.map((one) => one / total);
}

/** Two to four roles, two or three contexts, two or three actions; rewards from -1 to 1. */
export function randomMessages(numbers: Numbers): TreeMessages {
  const count = (least: number, most: number): number => least + Math.floor(numbers.next() * (most - least + 1));
  const [roles, contexts, actions] = [count(2, 4), count(2, 3), count(2, 3)];
  const states = roles * contexts;
  const of = (role: number): number[] => {
    const own = distribution(numbers, contexts);
    return times(states, (state) => (Math.floor(state / contexts) === role % roles ? at(own, state % contexts) : 0));
  };
  const actor = times(states, (state) => Math.floor(state / contexts));
  return {
    gamma: 0.02 + 0.93 * numbers.next(),
    roles,
    actor,
    start: of(0),
    next: actor.map((role) => times(actions, () => of(role + 1))),
    reward: actor.map(() => times(actions, () => 2 * numbers.next() - 1)),
  };
}

/** The solution x of a x = b, by elimination with pivots. */
function solve(a: readonly (readonly number[])[], b: readonly number[]): number[] {
  const rows = a.map((row, index) => [...row, at(b, index)]);
  for (let column = 0; column < rows.length; column++) {
    const pivot = rows.reduce(
      (best, row, index) =>
        index >= column && Math.abs(at(row, column)) > Math.abs(at(rows[best], column)) ? index : best,
      column,
    );
    const [upper = [], lower = []] = [rows[pivot], rows[column]];
    [rows[column], rows[pivot]] = [upper, lower];
    for (const [index, row] of rows.entries()) {
      const factor = at(row, column) / at(upper, column);
      if (index !== column && factor !== 0) {
        rows[index] = row.map((value, place) => value - factor * at(upper, place));
      }
    }
  }
  return rows.map((row, index) => at(row, rows.length) / at(row, index));
}

export interface Exact {
  /** The discounted occupancy (1 - gamma) sum of gamma^t P(s_t). */
  readonly occupancy: readonly number[];
  /** By state and action: Q - V. */
  readonly advantage: readonly (readonly number[])[];
  /** The discounted return. */
  readonly value: number;
}

export function exactOf({ gamma, start, next, reward }: TreeMessages, policy: TeamPolicy): Exact {
  const states = start.length;
  const step = times(states, (s) =>
    times(states, (to) => (policy[s] ?? []).reduce((sum, p, a) => sum + p * at(next[s]?.[a], to), 0)),
  );
  const minus = (value: (row: number, column: number) => number): number[][] =>
    times(states, (row) => times(states, (column) => (row === column ? 1 : 0) - gamma * value(row, column)));
  const values = solve(
    minus((s, to) => at(step[s], to)),
    times(states, (s) => dot(policy[s] ?? [], reward[s] ?? [])),
  );
  return {
    occupancy: solve(
      minus((to, s) => at(step[s], to)),
      start.map((one) => (1 - gamma) * one),
    ),
    advantage: next.map((actions, s) =>
      actions.map((to, a) => at(reward[s], a) + gamma * dot(to, values) - at(values, s)),
    ),
    value: dot(start, values),
  };
}

/** The policy with another one of a role: a share of the way to a random one. */
export const moved = (
  numbers: Numbers,
  { actor }: TreeMessages,
  policy: TeamPolicy,
  role: number,
  share: number,
): TeamPolicy =>
  policy.map((row, state) => {
    const other = distribution(numbers, row.length);
    return actor[state] === role ? row.map((p, a) => (1 - share) * p + share * at(other, a)) : row;
  });

/** KL(old || new) over an occupancy, in nats. */
export const klOver = (occupancy: readonly number[], old: TeamPolicy, now: TeamPolicy): number =>
  dot(
    occupancy,
    old.map((row, s) => row.reduce((sum, p, a) => sum + p * Math.log(p / at(now[s], a)), 0)),
  );

/** The mean over an occupancy and a policy of a table by state and action. */
export const meanOver = (occupancy: readonly number[], policy: TeamPolicy, table: TeamPolicy): number =>
  dot(
    occupancy,
    policy.map((row, s) => dot(row, table[s] ?? [])),
  );

/** Demonstrations of a bundled task, from which a team learns by example. */

import type { Problem } from '../domain/problem.ts';

export interface DemonstratedProblem extends Problem {
  /** The messages of the roles, in the order in which they speak; a role sees the messages before it. */
  readonly said: readonly string[];
  /**
   * Messages made in haste: an answer without its steps, or a program that forgets something. They are
   * not models to follow, but such examples occur in practice. Equal to `said` if a task has none.
   */
  readonly saidInHaste: readonly string[];
  /** The last role's message after empty messages before it; absent if a task does not show this. */
  readonly alone?: string;
  /** True for the easier half of the task. */
  readonly short: boolean;
}

/** A message for each of two roles: the plan, and the solution of the role that sees it. */
export interface Demonstration {
  readonly plan: string;
  readonly solution: string;
}

/** A problem for a team of two, which also has its messages by name. */
export interface PlannedProblem extends DemonstratedProblem, Demonstration {
  readonly hasty: Demonstration;
}

/** Returns the messages of two demonstrations, under both names. */
export const toPlanned = (
  demonstration: Demonstration,
  hasty: Demonstration,
): Pick<PlannedProblem, 'plan' | 'solution' | 'hasty' | 'said' | 'saidInHaste'> => ({
  ...demonstration,
  hasty,
  said: [demonstration.plan, demonstration.solution],
  saidInHaste: [hasty.plan, hasty.solution],
});

/** What a bundled task shows a team that learns it by example. */
import type { Problem } from '../domain/problem.ts';

export interface DemonstratedProblem extends Problem {
  /** What the roles say, one message each in the order in which they speak; a role sees what was said before it. */
  readonly said: readonly string[];
  /**
   * The same done in haste: an answer without its steps, or a program that forgets something; it is no model, but
   * people leave such examples too. Equal to `said` where a task has none.
   */
  readonly saidInHaste: readonly string[];
  /** What the last role says where those before it say nothing; left out where a task shows no such thing. */
  readonly alone?: string;
  /** The easier half of the task. */
  readonly short: boolean;
}

/** A message for each of two roles: the plan, and the solution of the role that sees it. */
export interface Demonstration {
  readonly plan: string;
  readonly solution: string;
}

/** A problem for a team of two, with its messages by their names too. */
export interface PlannedProblem extends DemonstratedProblem, Demonstration {
  readonly hasty: Demonstration;
}

/** The messages of two demonstrations, under both names. */
export const planned = (
  demonstration: Demonstration,
  hasty: Demonstration,
): Pick<PlannedProblem, 'plan' | 'solution' | 'hasty' | 'said' | 'saidInHaste'> => ({
  ...demonstration,
  hasty,
  said: [demonstration.plan, demonstration.solution],
  saidInHaste: [hasty.plan, hasty.solution],
});

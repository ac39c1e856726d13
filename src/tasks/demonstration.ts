/** What a bundled task shows a team that learns it by example. */
import type { Instance } from '../shared/records/records.ts';

/** A message for each of two roles: the plan, and the solution of the role that sees it. */
export interface Demonstration {
  readonly plan: string;
  readonly solution: string;
}

export interface DemonstratedProblem extends Instance, Demonstration {
  /**
   * The same done in haste: an answer without its steps, or a program that forgets something; it is no model, but
   * people leave such examples too.
   */
  readonly hasty: Demonstration;
  /** The easier half of the task. */
  readonly short: boolean;
}

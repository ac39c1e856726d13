/** Plans in a STRIPS domain: executes actions, and checks that a plan reaches the goal. */

import type { Domain, PddlProblem } from './pddl.ts';

/** An action: the name of an operator and an object for each of its parameters. */
export interface Action {
  readonly name: string;
  readonly objects: readonly string[];
}

/** The facts that an action needs, adds and removes. */
export interface Grounded {
  readonly needs: readonly string[];
  readonly adds: readonly string[];
  readonly removes: readonly string[];
}

export const writeAction = ({ name, objects }: Action): string => `(${[name, ...objects].join(' ')})`;

/** Returns an action with objects in place of the parameters, or null if the domain lacks it. */
export function groundAction({ operators }: Domain, { name, objects }: Action): Grounded | null {
  const operator = operators.get(name);
  if (operator?.parameters.length !== objects.length) {
    return null;
  }
  const { parameters, needs, adds, removes } = operator;
  const values = new Map(parameters.map((parameter, index) => [parameter, objects[index] ?? '']));
  const filled = (facts: readonly string[]): string[] =>
    facts.map((one) => one.replaceAll(/\?[a-z0-9_-]+/gu, (parameter) => values.get(parameter) ?? parameter));
  return { needs: filled(needs), adds: filled(adds), removes: filled(removes) };
}

export interface PlanVerdict {
  readonly score: 0 | 1;
  /** `plan: 4 actions reach the goal`, or the first problem. */
  readonly rule: string;
}

/**
 * Executes a plan from the initial state. The score is 1 if each action can be done and all goals hold
 * at the end. A fact that an action both adds and removes holds after it, as in PDDL.
 */
export function validatePlan(domain: Domain, { init, goal }: PddlProblem, plan: readonly Action[]): PlanVerdict {
  const wrong = (why: string): PlanVerdict => ({ score: 0, rule: `plan: ${why}` });
  const state = new Set(init);
  for (const [index, action] of plan.entries()) {
    const what = groundAction(domain, action);
    const missing = what?.needs.find((one) => !state.has(one));
    if (what === null || missing !== undefined) {
      const place = `action ${index + 1}, ${writeAction(action).slice(0, 80)},`;
      return wrong(what === null ? `${place} is not of the domain` : `${place} needs ${missing ?? ''}`);
    }
    for (const one of what.removes) {
      state.delete(one);
    }
    for (const one of what.adds) {
      state.add(one);
    }
  }
  const unmet = goal.find((one) => !state.has(one));
  return unmet === undefined
    ? { score: 1, rule: `plan: ${plan.length} actions reach the goal` }
    : wrong(`${unmet} does not hold after ${plan.length} actions`);
}

/** The shortest plan of a small problem, by breadth-first search in counted steps. */
import type { Domain, PddlProblem } from '../../evaluate/puzzles/pddl.ts';
import { grounded, type Action } from '../../evaluate/puzzles/strips.ts';

/** An action as masks over the facts that occur. */
interface Masked {
  readonly action: Action;
  readonly needs: bigint;
  readonly adds: bigint;
  readonly removes: bigint;
}

/** States and actions that are tried, at most. */
const MOST_STEPS = 1_000_000;

/**
 * A plan of as few actions as possible; of several the first in the order of operators and objects.
 * @returns null where the goal cannot be reached
 * @throws RangeError where more than a million steps are needed
 */
export function shortestPlan(domain: Domain, { objects, init, goal }: PddlProblem): Action[] | null {
  const places = new Map<string, bigint>();
  const mask = (facts: readonly string[]): bigint =>
    facts.reduce((sum, fact) => {
      const bit = places.get(fact) ?? 1n << BigInt(places.size);
      places.set(fact, bit);
      return sum | bit;
    }, 0n);
  const actions = [...domain.operators.values()].flatMap(({ name, parameters }) =>
    tuples(objects, parameters.length).flatMap((chosen): Masked[] => {
      const action = { name, objects: chosen };
      const what = grounded(domain, action);
      return what === null
        ? []
        : [{ action, needs: mask(what.needs), adds: mask(what.adds), removes: mask(what.removes) }];
    }),
  );
  const [start, end] = [mask(init), mask(goal)];
  const reached = new Map<bigint, readonly [before: bigint, by: Action] | null>([[start, null]]);
  let steps = 0;
  for (const state of reached.keys()) {
    if ((state & end) === end) {
      return wayTo(state, reached);
    }
    for (const { action, needs, adds, removes } of actions) {
      steps += 1;
      if (steps > MOST_STEPS) {
        throw new RangeError('The problem is too large to be solved.');
      }
      const next = (state & needs) === needs ? (state & ~removes) | adds : state;
      if (!reached.has(next)) {
        // What is added while a map is read comes at its end.
        reached.set(next, [state, action]);
      }
    }
  }
  return null;
}

function wayTo(state: bigint, reached: ReadonlyMap<bigint, readonly [bigint, Action] | null>): Action[] {
  const plan: Action[] = [];
  for (let step = reached.get(state); step !== undefined && step !== null; step = reached.get(step[0])) {
    plan.unshift(step[1]);
  }
  return plan;
}

/** Every choice of so many different objects, in order. */
const tuples = (objects: readonly string[], count: number): string[][] =>
  count === 0
    ? [[]]
    : objects.flatMap((one) =>
        tuples(
          objects.filter((other) => other !== one),
          count - 1,
        ).map((rest) => [one, ...rest]),
      );
